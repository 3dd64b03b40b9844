"""Adds the options to pytest's command line, to its ini keys and to the commands of ``dlbench``."""

import argparse
from typing import TYPE_CHECKING, Any

from pytest_dlbench.options.option import Option
from pytest_dlbench.options.parsers import flag
from pytest_dlbench.options.table import OPTIONS

if TYPE_CHECKING:
    import pytest


def declare(parser: "pytest.Parser") -> None:
    """Add every option of the table to pytest's command line and ini keys."""
    group = parser.getgroup("dlbench", "benchmarks of deep-learning training")
    for option in OPTIONS:
        group.addoption(option.flag, dest=option.key, default=None, help=_help(option), **_action(option))
        parser.addini(option.key, help=option.help, type="string", default=None)


def add_to_command(parser: argparse.ArgumentParser, name: str) -> None:
    """Add an option to a ``dlbench`` command, without the prefix; ``read`` parses the value."""
    option = next(option for option in OPTIONS if option.name == name)
    flag = option.flag.replace("--dlbench-", "--")
    parser.add_argument(flag, dest=option.key, default=None, help=_help(option), **_action(option))


def _action(option: Option) -> dict[str, Any]:
    if option.parse is flag:
        return {"action": "store_const", "const": "true"}
    optional = {"nargs": "?", "const": option.without_value} if option.without_value else {}
    return {"action": "append" if option.repeats else "store", "metavar": option.metavar, **optional}


def _help(option: Option) -> str:
    shown = "" if option.parse is flag or not option.default else f" [{option.default}]"
    return f"{option.help}{shown}".replace("%", "%%")
