"""Two runs whose steps alternate: both workers are alive, and one waits while the other takes a step.

What disturbs the machine then disturbs neighbouring steps of both sides alike, which their ratio cancels. Both workers
have the same cores, and so has the driver meanwhile. The order of the sides is drawn for every two steps of each:
A B B A, or B A A B.

Before that, each worker imports, builds and takes its first steps. Where there are cores for both, they do so at the
same time, on cores of their own: what is slow then is slow for both, and a pair takes about half as long.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf
from random import Random

import numpy as np
import psutil

from pytest_dlbench.data.dataset import PARTS
from pytest_dlbench.environments.placing import Absent, Place
from pytest_dlbench.model.traffic import step_bytes
from pytest_dlbench.records import Alternation, Run, Timeline, Usage, digits
from pytest_dlbench.records.reasons import SequentialPairs
from pytest_dlbench.running import pinning
from pytest_dlbench.running.run_hooks import NO_HOOKS, RunHooks
from pytest_dlbench.running.run_spec import NetworkSpec, ProgramSpec, RunSpec
from pytest_dlbench.running.training import Attempt

# The free memory that the second worker needs, in resident sets of the first one after its first steps.
MEMORY_NEEDED = 1.5
# Far more than any framework was seen to need: for itself, and in the bytes that a step moves at least and in the data.
FRAMEWORK_BYTES, COPIES = 2 * 2**30, 10
# A worker that uses more processors than this while it waits disturbs the other one.
MOST_IDLE_CPUS = 0.02
# Counters of the processors as a whole, and so of both workers.
SHARED_READINGS = ("package_joules", "dram_joules")


class TooLittleMemoryError(Exception):
    """There is no memory for a second worker."""


def obstacle(*specs: RunSpec) -> SequentialPairs | None:
    """Why the steps of these runs cannot alternate; None if they can."""
    if any(spec.case.device != "cpu" for spec in specs):
        return SequentialPairs(cause="device")
    if any(spec.case.workers > 1 for spec in specs):
        return SequentialPairs(cause="workers")
    if others := [spec.purpose for spec in specs if spec.purpose != "training"]:
        return SequentialPairs(cause="operator" if "operator" in others else "inference")
    if any(isinstance(spec, ProgramSpec) and spec.program.is_loop for spec in specs):
        return SequentialPairs(cause="loop")
    # Its threads prepare batches between the steps, too.
    if any(isinstance(spec, NetworkSpec) and spec.recipe.input != "memory" for spec in specs):
        return SequentialPairs(cause="pipeline")
    return SequentialPairs(cause="absent") if any(isinstance(spec.place, Absent) for spec in specs) else None


def spinning(specs: Mapping[str, RunSpec], runs: Mapping[str, Run]) -> SequentialPairs | None:
    """Which side's threads spin instead of sleeping while it waits, by name; None if neither's do."""
    used = {name: found.idle_cpus for name, run in runs.items() if (found := _alternation(run))}
    most = max(used, key=lambda name: used[name], default="")
    if not most or used[most] <= MOST_IDLE_CPUS:
        return None
    return SequentialPairs(cause="spinning", framework=specs[most].framework.name, cpus=used[most])


def train_pair(
    first: RunSpec, second: RunSpec, index: int, order: Random, hooks: Sequence[RunHooks] = (NO_HOOKS, NO_HOOKS)
) -> tuple[Run, ...]:
    """Both runs, in this order, or the first alone if it fails before the second starts.

    If a run ends early, the other goes on alone. Raises TooLittleMemoryError before anything is measured. Both start at
    the same time if there are cores for both, and memory: for large networks, the first pair has to show that.
    """
    own, others = pinning.shares(first.threads, 2, first.cores)
    has_cores = len(others) == second.threads and first.cores == second.cores
    if has_cores and (index or _surely_fit(first, second)):
        return _at_once(replace(first, cores=own), replace(second, cores=others), index, order, hooks)
    one, other = _attempt(first, index, hooks[0]), _attempt(second, index, hooks[1])
    with one:
        is_waiting = one.proceed()
        if is_waiting and not _fits(one.pid):
            raise TooLittleMemoryError
        # It may have finished before its steps would alternate; the other one is its pair nevertheless.
        both = is_waiting or one.has_finished
        if both:
            with other:
                other.proceed()
                _take_turns(one, other, order)
    return _apart(one, other) if both else (one.run(),)


def _at_once(first: RunSpec, second: RunSpec, index: int, order: Random, hooks: Sequence[RunHooks]) -> tuple[Run, Run]:
    """Both runs, which start at the same time on the cores of each; steps then alternate on those of the first."""
    one, other = _attempt(first, index, hooks[0]), _attempt(second, index, hooks[1])
    # The kernel ends a worker with the thread that started it, so that this one has to start both.
    with one, other, ThreadPoolExecutor(1) as pool:
        starting = pool.submit(other.proceed)
        try:
            one.proceed()
            is_waiting = starting.result()
        except BaseException:
            other.kill()
            raise
        if is_waiting:
            other.move(first.cores)
        _take_turns(one, other, order)
    runs = _apart(one, other)
    return _started_together(runs[0]), _started_together(runs[1])


def _started_together(run: Run) -> Run:
    alternation = _alternation(run)
    if run.training is None or alternation is None:
        return run
    return replace(run, training=replace(run.training, alternation=replace(alternation, started_together=True)))


def _take_turns(one: Attempt, other: Attempt, order: Random) -> None:
    """Steps in turn until one of the two has ended; then the other goes on alone."""
    sides = (one, other)
    if one.has_started and other.has_started:
        _alternate(sides, order)
    for attempt in sides:
        while attempt.proceed():
            pass


def _alternate(sides: tuple[Attempt, Attempt], order: Random) -> None:
    """Steps in turn until one of the two has ended."""
    # Where a step has just ended nothing sleeps: to wake another processor twice takes longer than a short step.
    with pinning.pinned(frozenset(pinning.in_force(sides[0].pid))):
        for side in turns(order):
            if not sides[side].proceed():
                break


def turns(order: Random) -> Iterator[int]:
    """Which side takes the next step, 0 or 1, without end: every two steps of each in the order 0 1 1 0 or 1 0 0 1."""
    while True:
        first = order.randrange(2)
        yield from (first, 1 - first, 1 - first, first)


def _surely_fit(*specs: RunSpec) -> bool:
    return psutil.virtual_memory().available > sum(map(_most_bytes, specs))


def _most_bytes(spec: RunSpec) -> float:
    """More than the worker will need; of a program nothing is known."""
    if not isinstance(spec, NetworkSpec):
        return inf
    data = sum(spec.data.part(name).stat().st_size for name in PARTS)
    return FRAMEWORK_BYTES + COPIES * (step_bytes(spec.network, spec.recipe) + data)


def _fits(pid: int) -> bool:
    return psutil.virtual_memory().available > MEMORY_NEEDED * psutil.Process(pid).memory_info().rss


def _attempt(spec: RunSpec, index: int, hooks: RunHooks) -> Attempt:
    assert isinstance(spec.place, Place)
    return Attempt(replace(spec, alternates=True), spec.place, index, hooks)


def _apart(one: Attempt, other: Attempt) -> tuple[Run, Run]:
    """Both runs, each without what the other one used of the machine meanwhile."""
    first, second, later = one.run(), other.run(), other.started - one.started
    return _without(first, second, later), _without(second, first, -later)


def _without(run: Run, other: Run, later: float) -> Run:
    """The run without what the other one used, whose clock starts that many seconds later."""
    if _alternation(run) is None or _alternation(other) is None or "train" not in run.usage:
        return run
    phase = run.usage["train"]
    is_shared = any(name in phase.readings for name in SHARED_READINGS)
    energy = {"energy": "the workers of both sides alternated on the processors that its counters are of"}
    return replace(
        run,
        usage={**run.usage, "train": _own(phase, run, other, later)},
        timeline=_own_timeline(run.timeline, other.timeline, later),
        absent={**run.absent, **(energy if is_shared else {})},
    )


def _own(phase: Usage, run: Run, other: Run, later: float) -> Usage:
    """Training without the other's use of the processors; means over all of them stay those of the whole time."""
    alternation = _alternation(other)
    assert alternation is not None
    own, whole = sum(_alternated_seconds(run)), sum(sum(_alternated_seconds(side)) for side in (run, other))
    # The phase's means are weighted by this side's own time, of which only a part may have alternated.
    share = own / max(phase.wall_seconds, 1e-9)
    others = share * sum(alternation.cpu_seconds) / max(whole, 1e-9) + _others_cpus(phase, run, other, later)
    return replace(
        phase,
        foreign_cpus=max(phase.foreign_cpus - others, 0.0),
        readings={name: value for name, value in phase.readings.items() if name not in SHARED_READINGS},
    )


def _others_cpus(phase: Usage, run: Run, other: Run, later: float) -> float:
    """The CPUs that the other one used while this one took its first steps, as a mean over the whole phase."""
    assert run.training is not None
    assert run.training.alternation is not None
    if not other.timeline.seconds:
        return 0.0
    since, alone = phase.began_seconds or 0.0, sum(run.training.step_seconds[: run.training.alternation.first])
    began, ended = np.interp(
        (since, since + alone),
        np.add(other.timeline.seconds, later),
        other.timeline.cpu_seconds,
    )
    return float(ended - began) / max(phase.wall_seconds, 1e-9)


def _alternated_seconds(run: Run) -> Sequence[float]:
    alternation = _alternation(run)
    assert run.training is not None
    assert alternation is not None
    return run.training.step_seconds[alternation.first :]


def _own_timeline(line: Timeline, other: Timeline, later: float) -> Timeline:
    """The machine's busy time without the other worker's processor time."""
    if not line.machine_seconds or not other.seconds:
        return line
    theirs = np.interp(line.seconds, np.add(other.seconds, later), other.cpu_seconds, left=0.0)
    return replace(line, machine_seconds=digits.seconds(np.subtract(line.machine_seconds, theirs).tolist()))


def _alternation(run: Run) -> Alternation | None:
    return run.training.alternation if run.training else None
