"""Whether the packages of an extra are installed, checked before hours of work instead of after them."""

from importlib.util import find_spec

from pytest_dlbench.errors import OptionError

# Modules and their packages.
REPORT = {"altair": "altair", "jinja2": "jinja2", "vl_convert": "vl-convert-python"}


def require_report(asked: str) -> None:
    """Raise OptionError with what to install if reports cannot be written; ``asked`` is the option or command."""
    if missing := [package for module, package in REPORT.items() if find_spec(module) is None]:
        packages = " and ".join(missing)
        raise OptionError(f'{asked} needs {packages}: pip install "pytest-dlbench[report]"')
