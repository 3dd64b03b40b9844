"""Consecutive runs of one case in one session, from which the difference between two successive runs is estimated."""

from collections.abc import Callable
from pathlib import Path

from pytest_dlbench.records import Context, Run, RunOutcome
from pytest_dlbench.storing.journal import Entry, read_journal

# Older journals do not describe the machine as it is now.
NEWEST_JOURNALS = 20


def consecutive(
    folder: Path, case: str, is_alike: Callable[[Context], bool], *, minimum: int, exclude: Path
) -> tuple[Run, ...]:
    """The runs of a case in the newest journal with at least ``minimum`` runs under similar conditions; else none.

    Unfinished and invalid runs are skipped, and those whose steps alternated with another's. ``exclude`` is the journal
    of this session, which must not be its own reference.
    """
    journals = sorted((path for path in folder.glob("*.jsonl") if path != exclude), reverse=True)
    for path in journals[:NEWEST_JOURNALS]:
        entries = (entry for entry in read_journal(path) if isinstance(entry, Entry))
        runs = tuple(
            entry.run
            for entry in entries
            if entry.run and _is_of(entry.run, case) and entry.context and is_alike(entry.context)
        )
        if len(runs) >= minimum:
            return runs
    return ()


def _is_of(run: Run, case: str) -> bool:
    is_alone = run.training is None or run.training.alternation is None
    return run.case == case and run.outcome is RunOutcome.FINISHED and is_alone and not run.invalid
