"""Signs that a run measured other processes."""

from collections.abc import Iterator, Sequence
from statistics import median

from pytest_dlbench.records import Run

# The driver and the kernel's own work stay well below this.
FOREIGN_CPUS = 0.2
# The kernel counts processor time in ticks of 10 ms: shorter phases are too inaccurate.
SHORTEST_SECONDS = 1.0


# Share of processor time in the kernel, and faults per step: below, memory does not dominate the measurement.
KERNEL_SHARE, STEP_FAULTS = 0.2, 100


def disturbances(runs: Sequence[Run]) -> tuple[str, ...]:
    """What a reader of the figures should know, one sentence each."""
    return tuple(_sentences(runs))


def _sentences(runs: Sequence[Run]) -> Iterator[str]:
    if reasons := [reason for run in runs for reason in run.invalid]:
        yield f"{sum(bool(run.invalid) for run in runs)} of {len(runs)} runs are invalid: {reasons[0]}"
    if told := _neighbours(runs):
        yield told
    if cut := [run.contention.steps for run in runs if run.contention and run.contention.is_cut]:
        yield f"{sum(cut)} steps of {len(cut)} runs count for no step time: others left the machine no processor free"
    if {run.compiled for run in runs} >= {"cold", "warm"}:
        cold = sum(run.compiled == "cold" for run in runs)
        yield f"{cold} of {len(runs)} runs compiled what the others found compiled: their first steps are not alike"
    if unsteady := sum(run.warm_up is not None and run.warm_up.is_steady is False for run in runs):
        yield f"{unsteady} of {len(runs)} runs never became steady: their steps were still getting faster or slower"
    if faulting := [faults for run in runs if (faults := _faults_of_steps(run))]:
        yield f"{median(faulting):,.0f} page faults a step: getting memory from the kernel is much of what is measured"
    if names := sorted({name for run in runs for name in run.survivors}):
        yield f"workers left processes behind, which were ended: {', '.join(names)}"


def _neighbours(runs: Sequence[Run]) -> str:
    phases = [run.usage["train"] for run in runs if "train" in run.usage]
    foreign = [usage.foreign_cpus for usage in phases if usage.wall_seconds >= SHORTEST_SECONDS]
    disturbed = [cpus for cpus in foreign if cpus > FOREIGN_CPUS]
    if not disturbed:
        return ""
    share = f"{len(disturbed)} of {len(foreign)} runs"
    return f"others on this machine used {median(disturbed):.1f} CPUs while {share} trained: times are theirs, too"


def _faults_of_steps(run: Run) -> float:
    """Page faults per step if they are expensive, else 0."""
    phase = run.usage.get("train")
    if run.training is None or phase is None or phase.wall_seconds < SHORTEST_SECONDS:
        return 0.0
    faults = (phase.minor_faults or 0) / len(run.training.step_seconds)
    in_kernel = phase.system_seconds > KERNEL_SHARE * (phase.user_seconds + phase.system_seconds)
    return faults if in_kernel and faults > STEP_FAULTS else 0.0
