"""Runs of one case that a session made one behind the other: what tells how far two runs in a row lie apart."""

from collections.abc import Callable
from pathlib import Path

from pytest_dlbench.records import Context, Run, RunOutcome
from pytest_dlbench.storing.journal import Entry, read_journal

# A reference of long ago is not of this machine as it is now.
NEWEST_JOURNALS = 20


def consecutive(
    folder: Path, case: str, is_alike: Callable[[Context], bool], *, least: int, besides: Path
) -> tuple[Run, ...]:
    """The runs of a case in the newest journal that has so many of them, under conditions that are alike; else none.

    What did not finish, or measured the machine's troubles, is left out. ``besides`` is the journal of this session:
    what is judged must not be its own reference.
    """
    journals = sorted((path for path in folder.glob("*.jsonl") if path != besides), reverse=True)
    for path in journals[:NEWEST_JOURNALS]:
        entries = (entry for entry in read_journal(path) if isinstance(entry, Entry))
        runs = tuple(
            entry.run
            for entry in entries
            if entry.run and _is_of(entry.run, case) and entry.context and is_alike(entry.context)
        )
        if len(runs) >= least:
            return runs
    return ()


def _is_of(run: Run, case: str) -> bool:
    return run.case == case and run.outcome is RunOutcome.FINISHED and not run.invalid
