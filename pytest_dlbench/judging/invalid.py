"""What makes a run invalid: it measured the machine's problems, not the framework (docs/reference/validity.md)."""

from collections.abc import Iterator
from dataclasses import replace

from pytest_dlbench.judging.contention import contention
from pytest_dlbench.judging.warm_up import warm_up
from pytest_dlbench.records import POWER_LIMIT, GpuUsage, Run, Usage
from pytest_dlbench.records.reasons import (
    GpuShared,
    GpuSlowed,
    OnBattery,
    Overheated,
    Stolen,
    Swapped,
    Trouble,
    Waited,
)

# The kernel counts processor time in ticks of 10 ms: shorter training runs are too inaccurate.
SHORTEST_SECONDS = 1.0
# Waiting for twice as long as computing: a third of the requested processor time. At a half the 10 % quantile of the
# steps, which is judged, was still accurate to 2 % (measured in three sessions), and CI machines are often that busy.
WAITED_SHARE = 2.0
FOREIGN_CPUS = 0.5
STOLEN_SHARE = 0.25
SWAPPED_IN_BYTES = 16 * 2**20
SWAPPED_FAULTS = 100
# A single hot sample of a long training leaves the 10 % quantile and the median of its steps as they are.
THROTTLED = 0.1


def examined(run: Run) -> Run:
    """The run with what follows from its series and counters: warm-up, contended steps, and whether it is valid."""
    if run.training is None:
        return run
    warm = warm_up(run.training.step_seconds)
    return replace(run, warm_up=warm, contention=contention(run), invalid=disqualified(run))


def disqualified(run: Run) -> tuple[Trouble, ...]:
    """Why this run's figures are not the framework's; empty for a valid run and for one without training."""
    phase = run.usage.get("train")
    if run.training is None or phase is None or phase.wall_seconds < SHORTEST_SECONDS:
        return ()
    return tuple(_troubles(phase, on_battery=run.on_battery))


def _troubles(phase: Usage, *, on_battery: bool) -> Iterator[Trouble]:
    computed, waited = phase.user_seconds + phase.system_seconds, phase.waited_seconds or 0.0
    if phase.foreign_cpus > FOREIGN_CPUS and waited > WAITED_SHARE * computed:
        yield Waited(computed_seconds=computed, waited_seconds=waited, foreign_cpus=phase.foreign_cpus)
    if phase.steal_cpus and phase.steal_cpus > STOLEN_SHARE * len(phase.core_use):
        yield Stolen(stolen=phase.steal_cpus, cpus=len(phase.core_use))
    if (phase.swapped_in_bytes or 0) > SWAPPED_IN_BYTES and (phase.major_faults or 0) > SWAPPED_FAULTS:
        yield Swapped(read_bytes=phase.swapped_in_bytes or 0)
    if (phase.throttlings or 0) > phase.wall_seconds:
        yield Overheated(times=phase.throttlings or 0)
    if on_battery:
        yield OnBattery()
    for gpu in phase.gpus:
        yield from _of_gpu(gpu)


def _of_gpu(gpu: GpuUsage) -> Iterator[Trouble]:
    # Most GPUs run at their power limit during training, as designed. Older files have no shares: then any counts.
    causes = [reason for reason in gpu.slowed_by if reason != POWER_LIMIT]
    shares = {reason: gpu.slowed_shares.get(reason, 1.0) for reason in causes}
    if slowed := {cause: share for cause, share in shares.items() if share > THROTTLED}:
        yield GpuSlowed(gpu=gpu.name, causes=slowed if gpu.slowed_shares else dict.fromkeys(causes))
    if gpu.foreign_processes:
        yield GpuShared(gpu=gpu.name, processes=gpu.foreign_processes)
