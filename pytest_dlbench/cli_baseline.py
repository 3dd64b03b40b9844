"""``dlbench baseline``: look at accepted figures, accept recorded ones, and take away those that nothing measures."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pytest_dlbench import codec, judging
from pytest_dlbench.cli_answers import Commands, answer, command, complain
from pytest_dlbench.errors import FileFormatError, OptionError, unknown_name
from pytest_dlbench.records import Baseline
from pytest_dlbench.reporting import terminal
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.recorded import read

FOLDER = Path("baselines")
LIST = """
examples:
  dlbench baseline list
  dlbench baseline list --baselines bench/baselines --json

exit status: 0 all read, 1 a baseline is damaged (named; the others are listed), 2 a wrong call
"""
ACCEPT = """
What pytest --dlbench-save does, for sessions that were run already: the newest recording of each case becomes its
baseline. Cases that did not finish, with fewer than three runs, or that measured their neighbours are refused.

examples:
  dlbench baseline accept .dlbench/20261121T021405-4711.jsonl --reason "PyTorch 2.13"
  dlbench baseline accept nightly.json --case '*pytorch*' --reason "PyTorch 2.13"

exit status: 0 all accepted, 1 some were refused or are damaged (named; the others are accepted), 2 a wrong call
"""
PRUNE = """
Says what it would take away; --yes does it.

examples:
  dlbench baseline prune --not-in .dlbench        cases that no recorded session has measured
  dlbench baseline prune --older-than 365 --yes   not saved again for a year
  dlbench baseline prune --damaged --yes

exit status: 0 done, 2 a wrong call
"""


def declare(commands: Commands) -> None:
    """Add ``baseline`` and what it can do."""
    text = "List, accept and prune baselines."
    actions = commands.add_parser("baseline", help=text, description=text).add_subparsers(
        required=True, metavar="ACTION"
    )
    listing = command(actions, "list", help_text="List all baselines: when saved, why, of how many runs.", more=LIST)
    accepting = command(actions, "accept", help_text="Make recorded figures the baselines.", more=ACCEPT)
    accepting.add_argument("paths", metavar="RECORDS", nargs="+", type=Path)
    accepting.add_argument("--case", metavar="PATTERN", default="*", help="Only cases that fit it [*].")
    accepting.add_argument("--reason", metavar="TEXT", required=True, help="Why they are right; kept in them.")
    pruning = command(actions, "prune", help_text="Take baselines away that nothing measures any more.", more=PRUNE)
    pruning.add_argument("--not-in", metavar="RECORDS", nargs="+", type=Path, help="Cases not recorded in these.")
    pruning.add_argument("--older-than", metavar="DAYS", type=int, help="Saved so many days ago, or more.")
    pruning.add_argument("--damaged", action="store_true", help="Files that cannot be read.")
    pruning.add_argument("--yes", action="store_true", help="Do it.")
    for parser, run in ((listing, _list), (accepting, _accept), (pruning, _prune)):
        parser.add_argument(
            "--baselines", metavar="FOLDER", type=Path, default=FOLDER, help=f"Where they are kept [{FOLDER}]."
        )
        parser.set_defaults(run=run)


def _all(folder: Path) -> Iterator[tuple[Path, Baseline | FileFormatError]]:
    if not folder.is_dir():
        raise OptionError(f"there are no baselines in {folder}: pytest --dlbench-save writes them")
    for path in sorted(folder.glob("*/*.json")):
        try:
            yield path, codec.decode_versioned(path.read_bytes(), Baseline, str(path))
        except FileFormatError as error:
            yield path, error


def _list(asked: argparse.Namespace) -> int:
    found = list(_all(asked.baselines))
    sound = [baseline for _, baseline in found if isinstance(baseline, Baseline)]
    rows: list[dict[str, Any]] = [
        {
            "machine": baseline.context.machine.name,
            "case": baseline.case.id,
            "saved": baseline.saved,
            "runs": len(baseline.seeds),
            "reason": baseline.reason,
        }
        for baseline in sound
    ]
    grid = terminal.grid("machine", "case", "saved", right=("runs",))
    grid.add_column("reason", no_wrap=True)
    for row in rows:
        grid.add_row(*map(str, row.values()))
    answer(asked, rows, terminal.lines(grid))
    return complain([str(damage) for _, damage in found if isinstance(damage, FileFormatError)])


def _accept(asked: argparse.Namespace) -> int:
    # Late: NumPy is slow to load.
    from pytest_dlbench.judging import sides  # noqa: PLC0415

    found = read(asked.paths)
    newest = {case.record.case.id: case for case in found.cases}
    chosen = [case for name, case in newest.items() if fnmatch(name, asked.case)]
    if not chosen:
        raise OptionError(unknown_name("case", asked.case, "dlbench baseline accept", newest))
    store, saved = BaselineStore(folder=asked.baselines), datetime.now(UTC).isoformat(timespec="seconds")
    accepted, refused = [], []
    for case in chosen:
        reasons = [sides.refusal(case.record), *judging.disturbances(case.record.runs)]
        if why := "; ".join(reason for reason in reasons if reason):
            refused.append(f"refused: {case.record.case.id}: {why}")
        else:
            baseline = sides.accepted(case.record, reason=asked.reason, saved=saved)
            accepted.append(str(store.write(baseline)))
    answer(asked, {"accepted": accepted, "refused": refused}, [f"saved: {path}" for path in accepted])
    return complain([*refused, *found.damages])


def _prune(asked: argparse.Namespace) -> int:
    if not (asked.not_in or asked.older_than or asked.damaged):
        raise OptionError("dlbench baseline prune: say which: --not-in RECORDS, --older-than DAYS or --damaged")
    measured = {case.record.case.id for case in read(asked.not_in).cases} if asked.not_in else set()
    doomed = []
    for path, baseline in _all(asked.baselines):
        if why := _why_pruned(baseline, asked, measured):
            doomed.append({"path": str(path), "reason": why})
            if asked.yes:
                path.unlink()
    verb = "removed" if asked.yes else "would be removed"
    lines = [f"{row['path']}: {verb}: {row['reason']}" for row in doomed]
    answer(asked, doomed, [*lines, *([] if asked.yes or not doomed else ["--yes removes them"])])
    return 0


def _why_pruned(baseline: Baseline | FileFormatError, asked: argparse.Namespace, measured: set[str]) -> str:
    if isinstance(baseline, FileFormatError):
        return "damaged" if asked.damaged else ""
    if asked.not_in and baseline.case.id not in measured:
        return "no recorded session has measured it"
    age = datetime.now(UTC) - datetime.fromisoformat(baseline.saved)
    return f"saved {baseline.saved}" if asked.older_than and age.days >= asked.older_than else ""
