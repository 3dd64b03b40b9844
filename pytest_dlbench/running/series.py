"""The runs of one case, in sequence: timed ones alone on their device, untimed ones alongside others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.running import devices
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import NO_HOOKS, RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import train_once


def _unchanged(run: Run) -> Run:
    return run


def _none(_: int) -> None:
    return None


def train_series(
    spec: RunSpec,
    runs: int,
    *,
    keep: Callable[[Run], None],
    progress: Progress,
    hooks: RunHooks = NO_HOOKS,
    examine: Callable[[Run], Run] = _unchanged,
    repeats: int = 0,
    first: int = 0,
    recorded: Callable[[int], Run | None] = _none,
) -> tuple[Run, ...]:
    """Train in ``runs`` fresh processes; each run is passed through ``examine`` to ``keep`` before the next starts.

    The first run that does not finish ends the series: what broke it would break the others. Invalid runs are repeated,
    at most ``repeats`` times in the whole series; only the last repetition is returned. ``first`` is the index of the
    first run among the runs of its case, from 0. ``recorded`` may have the run of an index, which is not made then.
    """
    finished: list[Run] = []
    hooks = replace(hooks, phase_began=progress.phase_began)
    with _placed(spec, progress) as placed:

        def made(index: int) -> Run:
            run = examine(train_once(placed, index, hooks))
            keep(run)
            return run

        for index in range(first, first + runs):
            known = recorded(index)
            if known is None:
                progress.run_started(spec.case, index, first + runs)
            run = known or made(index)
            while run.invalid and repeats:
                repeats -= 1
                known = recorded(index)
                run = known or made(index)
            if run is not known:
                progress.run_finished(spec.case, run, index, first + runs)
            finished.append(run)
            if run.outcome is not RunOutcome.FINISHED:
                break
    return tuple(finished)


@contextmanager
def _placed(spec: RunSpec, progress: Progress) -> Iterator[RunSpec]:
    """The spec with the GPU or the cores that are locked for it in this block."""
    case = spec.case

    def waiting() -> None:
        progress.waiting(case, case.device)

    if spec.is_timed or case.device != devices.CPU:
        with devices.held(case.device, waiting) as gpu:
            yield replace(spec, gpu=gpu)
    else:
        with devices.shared(case.threads, waiting) as cores:
            yield replace(spec, cores=cores)
