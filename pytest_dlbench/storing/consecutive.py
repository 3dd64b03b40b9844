"""What earlier sessions have of a case: consecutive runs, whose differences are estimated, and its number of steps."""

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


def newest_context(folder: Path, current: Path, case: str, is_alike: Callable[[Context], bool]) -> Context | None:
    """The context of the newest finished run of a case, in the session's ``current`` journal or those of a folder."""
    journals = sorted((path for path in folder.glob("*.jsonl") if path != current), reverse=True)
    for path in (current, *journals[:NEWEST_JOURNALS]):
        entries = (entry for entry in read_journal(path) if isinstance(entry, Entry)) if path.is_file() else ()
        found = [
            entry.context
            for entry in entries
            if entry.run and entry.run.case == case and entry.run.outcome is RunOutcome.FINISHED and entry.context
        ]
        if known := next(filter(is_alike, reversed(found)), None):
            return known
    return None


def _is_of(run: Run, case: str) -> bool:
    is_alone = run.training is None or run.training.alternation is None
    return run.case == case and run.outcome is RunOutcome.FINISHED and is_alone and not run.invalid
