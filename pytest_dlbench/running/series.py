"""The runs of one case, one after the other, alone on their device; beside others if they are not timed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.running import devices
from pytest_dlbench.running.plan import Plan
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.training import train_once


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
    first: int = 0,
) -> tuple[Run, ...]:
    """``runs`` fresh processes; ``keep`` has each run, as ``examine`` found it, before the next starts.

    The first run that does not finish ends the series: what broke it would break the others. One that is invalid is
    done again, ``repeats`` times in the whole series; only the last of its repetitions is in the answer. ``first`` is
    the place of the first one among the runs of its case, from 0 on.
    """
    finished: list[Run] = []
    with _placed(replace(plan, enters=progress.phase_began), progress) as placed:
        for index in range(first, first + runs):
            progress.run_started(plan.case, index, first + runs)
            run = examine(train_once(placed, index))
            keep(run)
            while run.invalid and repeats:
                repeats -= 1
                run = examine(train_once(placed, index))
                keep(run)
            progress.run_finished(plan.case, run, index, first + runs)
            finished.append(run)
            if run.outcome is not RunOutcome.FINISHED:
                break
    return tuple(finished)


@contextmanager
def _placed(plan: Plan, progress: Progress) -> Iterator[Plan]:
    """The plan with the card or the processors that it has in this block."""
    case = plan.case

    def waiting() -> None:
        progress.waiting(case, case.device)

    if plan.is_timed or case.device != devices.CPU:
        with devices.held(case.device, waiting) as card:
            yield replace(plan, card=card)
    else:
        with devices.shared(case.threads, waiting) as cores:
            yield replace(plan, cores=cores)
