"""How commands declare their help and print answers: lines for people, or one JSON document for programs."""

import argparse
import codecs
import json
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
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
        text = foreign.in_json(json.dumps(value, indent=2, ensure_ascii=False))
        # Never a character that was replaced: programs read this.
        print(text if _is_printable(text) else json.dumps(value, indent=2))
    else:
        show(lines)


def show(lines: Iterable[str]) -> None:
    """Print lines, which may quote records."""
    for line in lines:
        print(foreign.line(line))


def _is_printable(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


# What terminals without UTF-8 show instead of the signs that messages use.
PLAIN = {"→": "->", "–": "-", "…": "...", "×": "x", "±": "+/-", "µ": "u", "≤": "<=", "≥": ">=", "√": "sqrt", "²": "^2"}


def degrade() -> None:
    """Let standard output and error replace what their encoding lacks: a report must not be lost to an arrow."""
    codecs.register_error("dlbench", _plain)
    for stream in (sys.stdout, sys.stderr):
        # In tests and in programs that call main, it may be any file.
        if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="dlbench")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(PLAIN.get(sign, "?") for sign in missing), error.end


def complain(damages: Sequence[str]) -> int:
    """Print what could not be read to standard error, and return the exit status."""
    for damage in damages:
        print(foreign.block(damage), file=sys.stderr)
    return 1 if damages else 0
