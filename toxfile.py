"""An environment that is named after one Python and run by another: the driver's, which starts the worker in the first.

tox reads a Python out of every environment name, and would build worker-py36 with Python 3.6.
"""

from tox.plugin import impl
from tox.tox_env.python.virtual_env.runner import VirtualEnvRunner
from tox.tox_env.register import ToxEnvRegister


class DriverRunner(VirtualEnvRunner):
    """A virtual environment of the Python that its settings name."""

    @staticmethod
    def id() -> str:
        """As tox.ini calls it."""
        return "driver"

    @classmethod
    def _validate_base_python(cls, env_name: str, base_pythons: list[str], *_: bool) -> list[str]:  # noqa: ARG003
        return base_pythons


@impl
def tox_register_tox_env(register: ToxEnvRegister) -> None:
    """Make the runner known."""
    register.add_run_env(DriverRunner)
