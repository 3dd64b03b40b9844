"""Signs that a run measured other processes."""

from collections.abc import Iterator, Sequence
from statistics import median

from pytest_dlbench.records import Run
from pytest_dlbench.records.reasons import (
    Caution,
    InvalidRuns,
    Neighbours,
    NeverSteady,
    PageFaults,
    StepsExcluded,
    Survivors,
    TimedTooShort,
    UnevenCompilation,
    UnsteadyCores,
)
from pytest_dlbench.records.runs import STEADY_CORES

# The driver and the kernel's own work stay well below this.
FOREIGN_CPUS = 0.2
# The kernel counts processor time in ticks of 10 ms: shorter phases are too inaccurate.
SHORTEST_SECONDS = 1.0


# Share of processor time in the kernel, and faults per step: below, memory does not dominate the measurement.
KERNEL_SHARE, STEP_FAULTS = 0.2, 100

# Share of the seconds that timed steps should last: above it, a run was only faster than the one that decided how many.
TIMED_SHARE = 0.5


def disturbances(runs: Sequence[Run]) -> tuple[Caution, ...]:
    """What a reader of the figures should know."""
    return tuple(_cautions(runs))


def _cautions(runs: Sequence[Run]) -> Iterator[Caution]:
    if reasons := [reason for run in runs for reason in run.invalid]:
        yield InvalidRuns(invalid=sum(bool(run.invalid) for run in runs), runs=len(runs), first=reasons[0])
    if found := _neighbours(runs):
        yield found
    if found_unsteady := _unsteady_cores(runs):
        yield found_unsteady
    if cut := [run.contention.steps for run in runs if run.contention and run.contention.is_cut]:
        yield StepsExcluded(steps=sum(cut), runs=len(cut))
    if {run.compiled for run in runs} >= {"cold", "warm"}:
        yield UnevenCompilation(cold=sum(run.compiled == "cold" for run in runs), runs=len(runs))
    yield from _of_steps(runs)
    if names := sorted({name for run in runs for name in run.survivors}):
        yield Survivors(names=tuple(names))
    yield from _of_breakdowns(runs)


def _of_steps(runs: Sequence[Run]) -> Iterator[Caution]:
    if unsteady := sum(run.warm_up is not None and run.warm_up.is_steady is False for run in runs):
        yield NeverSteady(unsteady=unsteady, runs=len(runs))
    if found := _too_short(runs):
        yield found
    if faulting := [faults for run in runs if (faults := _faults_of_steps(run))]:
        yield PageFaults(per_step=median(faulting))


def _of_breakdowns(runs: Sequence[Run]) -> Iterator[Caution]:
    """Why steps have no phases, each reason once."""
    found = [run.breakdown for run in runs if run.breakdown]
    reasons = [reason for one in found for reason in (one.undivided, one.flaw, one.no_layers) if reason]
    # Their numbers differ from run to run.
    yield from {_subject(reason): reason for reason in reversed(reasons)}.values()


def _subject(reason: Caution) -> tuple[object, ...]:
    return type(reason), getattr(reason, "phase", ""), getattr(reason, "unit", "")


def _neighbours(runs: Sequence[Run]) -> Neighbours | None:
    phases = [run.usage["train"] for run in runs if "train" in run.usage]
    foreign = [usage.foreign_cpus for usage in phases if usage.wall_seconds >= SHORTEST_SECONDS]
    disturbed = [cpus for cpus in foreign if cpus > FOREIGN_CPUS]
    if not disturbed:
        return None
    return Neighbours(cpus=median(disturbed), disturbed=len(disturbed), runs=len(foreign))


def _unsteady_cores(runs: Sequence[Run]) -> UnsteadyCores | None:
    known = [run.core_variation for run in runs if run.core_variation is not None]
    unsteady = [variation for variation in known if variation > STEADY_CORES]
    if not unsteady:
        return None
    return UnsteadyCores(variation=median(unsteady), unsteady=len(unsteady), runs=len(known))


def _too_short(runs: Sequence[Run]) -> TimedTooShort | None:
    timed = [(sum(run.training.step_seconds), run.length.least_seconds) for run in runs if run.length and run.training]
    if not timed:
        return None
    seconds, asked = (median(values) for values in zip(*timed, strict=True))
    return TimedTooShort(seconds=seconds, asked_seconds=asked) if seconds < TIMED_SHARE * asked else None


def _faults_of_steps(run: Run) -> float:
    """Page faults per step if they are expensive, else 0."""
    phase = run.usage.get("train")
    if run.training is None or phase is None or phase.wall_seconds < SHORTEST_SECONDS:
        return 0.0
    faults = (phase.minor_faults or 0) / len(run.training.step_seconds)
    in_kernel = phase.system_seconds > KERNEL_SHARE * (phase.user_seconds + phase.system_seconds)
    return faults if in_kernel and faults > STEP_FAULTS else 0.0
