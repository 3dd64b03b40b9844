"""``dlbench journal`` and ``dlbench table``: journals as their sessions showed them."""

import argparse
from pathlib import Path

from pytest_dlbench.cli.output import Commands, answer, command, complain
from pytest_dlbench.records import codec
from pytest_dlbench.reporting import listings, side_by_side
from pytest_dlbench.storing import Damage, Entry, read_journal
from pytest_dlbench.storing.recorded import read

JOURNAL = """
A session that was killed has a journal, too: its runs are there, and what was not judged is named.

examples:
  dlbench journal .dlbench/20261121T021405-4711.jsonl

exit status: 0 all read, 1 a line is damaged (named; the others are shown), 2 a wrong call
"""
TABLE = """
Frameworks become columns where their cases are alike, threads rows. --json gives the cases behind it.

examples:
  dlbench table .dlbench/*.jsonl
  dlbench table nightly.json > frameworks.md

exit status: 0 shown, 1 there is no judged case, or something is damaged (the rest is shown), 2 a wrong call
"""


def declare(commands: Commands) -> None:
    """Add ``journal`` and ``table``."""
    text = "Show what sessions have recorded, damaged or cut short as they be."
    journal = command(commands, "journal", help_text=text, more=JOURNAL)
    journal.add_argument("paths", metavar="FILE", nargs="+", type=Path)
    journal.set_defaults(run=_journal)
    table = command(commands, "table", help_text="Show frameworks side by side, as Markdown.", more=TABLE)
    table.add_argument(
        "paths", metavar="RECORDS", nargs="+", type=Path, help="Journals, files of --dlbench-json, or folders of them."
    )
    table.set_defaults(run=_table)


def _journal(asked: argparse.Namespace) -> int:
    entries = [entry for path in asked.paths for entry in read_journal(path)]
    lines, damages = listings.journal(entries)
    sound = [entry for entry in entries if not isinstance(entry, Damage)]
    answer(asked, [_told(entry) for entry in sound], lines)
    return complain(damages)


def _told(entry: Entry) -> dict[str, object]:
    found: dict[str, object] = codec.builtins(entry)
    return {name: value for name, value in found.items() if value is not None}


def _table(asked: argparse.Namespace) -> int:
    found = read(asked.paths)
    results = [case.result for case in found.cases]
    answer(asked, codec.builtins(results), side_by_side.markdown(results))
    return complain(found.damages) if results else 1
