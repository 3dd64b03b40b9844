"""The table, as pytest's command line, its ini file and the commands of ``dlbench`` are told of it."""

import argparse
from typing import TYPE_CHECKING, Any

from pytest_dlbench.options.option import Option
from pytest_dlbench.options.parsers import flag
from pytest_dlbench.options.table import OPTIONS

if TYPE_CHECKING:
    import pytest


def declare(parser: "pytest.Parser") -> None:
    """Add every row of the table to pytest's command line and ini keys."""
    group = parser.getgroup("dlbench", "benchmarks of deep-learning training")
    for option in OPTIONS:
        group.addoption(option.flag, dest=option.key, default=None, help=_help(option), **_action(option))
        parser.addini(option.key, help=option.help, type="string", default=None)


def add_to_command(parser: argparse.ArgumentParser, name: str) -> None:
    """Add a row to a command of ``dlbench``, where it needs no prefix; ``read`` takes what was given."""
    option = next(option for option in OPTIONS if option.name == name)
    flag = option.flag.replace("--dlbench-", "--")
    parser.add_argument(flag, dest=option.key, default=None, help=_help(option), **_action(option))


def _action(option: Option) -> dict[str, Any]:
    if option.parse is flag:
        return {"action": "store_const", "const": "true"}
    return {"action": "append" if option.repeats else "store", "metavar": option.metavar}


def _help(option: Option) -> str:
    shown = "" if option.parse is flag or not option.default else f" [{option.default}]"
    return f"{option.help}{shown}".replace("%", "%%")
