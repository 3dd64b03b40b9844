"""The runs of one case, one after the other, alone on their device."""

from collections.abc import Callable

import filelock
import platformdirs

from pytest_dlbench.records import Case, Run, RunOutcome
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.training import Plan, train_once

# A process that waits for its turn looks this often, so as not to disturb the one that measures.
WAIT_PERIOD_SECONDS = 0.5


def _as_it_is(run: Run) -> Run:
    return run


def train_series(
    plan: Plan,
    runs: int,
    *,
    keep: Callable[[Run], None],
    progress: Progress,
    examine: Callable[[Run], Run] = _as_it_is,
    repeats: int = 0,
) -> tuple[Run, ...]:
    """``runs`` fresh processes; ``keep`` has each run, as ``examine`` found it, before the next starts.

    The first run that does not finish ends the series: what broke it would break the others. One that is invalid is
    done again, ``repeats`` times in the whole series; only the last of its repetitions is in the answer.
    """
    finished: list[Run] = []
    lock = device_lock(plan.case, progress)
    try:
        for index in range(runs):
            progress.run_started(plan.case, index, runs)
            run = examine(train_once(plan, index))
            keep(run)
            while run.invalid and repeats:
                repeats -= 1
                run = examine(train_once(plan, index))
                keep(run)
            progress.run_finished(plan.case, run, index, runs)
            finished.append(run)
            if run.outcome is not RunOutcome.FINISHED:
                break
    finally:
        lock.release()
    return tuple(finished)


def device_lock(case: Case, progress: Progress) -> filelock.BaseFileLock:
    """The lock of the case's device, held: among all sessions of this user one worker is measured on it at a time."""
    folder = platformdirs.user_cache_path("pytest-dlbench") / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / f"{case.device}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        progress.waiting(case, case.device)
        lock.acquire(poll_interval=WAIT_PERIOD_SECONDS)
    return lock
