"""How commands describe themselves and print answers: lines for people, or one JSON document for programs."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

JOURNALS = Path(".dlbench")

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def command(commands: Commands, name: str, *, help_text: str, more: str) -> argparse.ArgumentParser:
    """A command whose help has examples and exit statuses (``more``), and which takes --json."""
    parser = plain_command(commands, name, help_text=help_text, more=more)
    parser.add_argument("--json", action="store_true", help="Print one JSON document.")
    return parser


def plain_command(commands: Commands, name: str, *, help_text: str, more: str) -> argparse.ArgumentParser:
    """The same without --json, for a command whose answer has a format of its own."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=help_text,
        epilog=more.strip("\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def answer(asked: argparse.Namespace, value: Any, lines: Iterable[str]) -> None:
    """Print one of the two; ``value`` is made of plain dictionaries, lists, numbers and text."""
    if asked.json:
        print(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        for line in lines:
            print(line)


def complain(damages: Sequence[str]) -> int:
    """Print what could not be read, and return the exit status."""
    for damage in damages:
        print(damage, file=sys.stderr)
    return 1 if damages else 0
