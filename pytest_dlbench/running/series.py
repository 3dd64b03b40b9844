"""The runs of one case, one after the other, alone on their device."""

from collections.abc import Callable
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
    with devices.held(plan.case.device, lambda: progress.waiting(plan.case, plan.case.device)) as card:
        plan = replace(plan, card=card, enters=progress.phase_began)
        for index in range(first, first + runs):
            progress.run_started(plan.case, index, first + runs)
            run = examine(train_once(plan, index))
            keep(run)
            while run.invalid and repeats:
                repeats -= 1
                run = examine(train_once(plan, index))
                keep(run)
            progress.run_finished(plan.case, run, index, first + runs)
            finished.append(run)
            if run.outcome is not RunOutcome.FINISHED:
                break
    return tuple(finished)
