"""What an extra of the distribution brings: asked for before hours of work, not behind them."""

from importlib.util import find_spec

from pytest_dlbench.errors import OptionError

# Modules and the packages that they come in.
REPORT = {"altair": "altair", "jinja2": "jinja2", "vl_convert": "vl-convert-python"}


def require_report(asked: str) -> None:
    """Raise OptionError, saying what to install, where a report could not be written; ``asked`` is what asked."""
    if missing := [package for module, package in REPORT.items() if find_spec(module) is None]:
        told = " and ".join(missing)
        raise OptionError(f'{asked}: needs {told}, not installed here: pip install "pytest-dlbench[report]"')
