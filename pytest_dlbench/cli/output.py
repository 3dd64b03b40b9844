"""How commands declare their help and print answers: lines for people, or one JSON document for programs."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pytest_dlbench.reporting import foreign

JOURNALS = Path(".dlbench")

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def command(commands: Commands, name: str, *, help_text: str, more: str) -> argparse.ArgumentParser:
    """Add a command with --json, whose help ends with examples and exit statuses (``more``)."""
    parser = plain_command(commands, name, help_text=help_text, more=more)
    parser.add_argument("--json", action="store_true", help="Print one JSON document.")
    return parser


def plain_command(commands: Commands, name: str, *, help_text: str, more: str) -> argparse.ArgumentParser:
    """Add a command without --json, for answers that have a format of their own."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=help_text,
        epilog=more.strip("\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def answer(asked: argparse.Namespace, value: Any, lines: Iterable[str]) -> None:
    """Print ``value`` with --json, else ``lines``. ``value`` consists of dictionaries, lists, numbers and strings."""
    if asked.json:
        print(foreign.in_json(json.dumps(value, indent=2, ensure_ascii=False)))
    else:
        show(lines)


def show(lines: Iterable[str]) -> None:
    """Print lines, which may quote records."""
    for line in lines:
        print(foreign.line(line))


def complain(damages: Sequence[str]) -> int:
    """Print what could not be read to standard error, and return the exit status."""
    for damage in damages:
        print(foreign.block(damage), file=sys.stderr)
    return 1 if damages else 0
