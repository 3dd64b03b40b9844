"""Signs that a run measured its neighbours."""

from collections.abc import Sequence
from statistics import median

from pytest_dlbench.records import Run

# The driver itself and the kernel's own work stay well below this.
FOREIGN_CPUS = 0.2
# The kernel counts processor time in ticks of 10 ms: of a shorter phase it knows too little.
SHORTEST_SECONDS = 1.0


def disturbances(runs: Sequence[Run]) -> tuple[str, ...]:
    """What a reader of the figures should know, one sentence each."""
    phases = [run.usage["train"] for run in runs if "train" in run.usage]
    foreign = [usage.foreign_cpus for usage in phases if usage.wall_seconds >= SHORTEST_SECONDS]
    disturbed = [cpus for cpus in foreign if cpus > FOREIGN_CPUS]
    if not disturbed:
        return ()
    share = f"{len(disturbed)} of {len(foreign)} runs"
    return (f"others on this machine used {median(disturbed):.1f} CPUs while {share} trained: times are theirs, too",)
