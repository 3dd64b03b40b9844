"""Whether the phases of a step are sound: they add up to the step, and each was waited for."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import get_args

from pytest_dlbench.records import Breakdown, Run
from pytest_dlbench.records.breakdowns import StepPhase
from pytest_dlbench.records.reasons import PhaseNotAwaited, PhasesDoNotAddUp

METRIC_OF: dict[StepPhase, str] = {phase: f"phase_{phase}" for phase in get_args(StepPhase)}
"""The metric of each phase, in the order of the phases."""

# What the sum of the phases may be, over the step. Phases that are waited for do not overlap, and phases that are
# compiled apart are not fused: together they may take longer, by 14 % in what was measured. If they take less time than
# the step, something is missing.
LEAST_SUM, MOST_SUM = 0.9, 1.2
# A phase that was waited for is copied at once. Of the step, so much may be left for the copy.
LATE_SHARE = 0.1
# Copying a small array varies by as much.
LATE_SECONDS = 0.0002


def phase_sum(found: Breakdown) -> float:
    """The sum of the phases over the whole step that was taken before them, in the median."""
    in_phases = map(sum, zip(*found.phase_seconds.values(), strict=True))
    return median(phases / step for phases, step in zip(in_phases, found.step_seconds, strict=True))


def flaw(found: Breakdown) -> PhasesDoNotAddUp | PhaseNotAwaited | None:
    """Why the phases are not those of the step; None if they are."""
    step = median(found.step_seconds)
    # A phase that was not waited for goes on in later ones, and the last of these can be late, too.
    for phase, copies in found.copy_seconds.items():
        late = median(first - again for first, again in copies)
        if late > max(LATE_SECONDS, LATE_SHARE * step):
            return PhaseNotAwaited(phase=phase, late_seconds=late, step_seconds=step)
    ratio = phase_sum(found)
    return None if LEAST_SUM <= ratio <= MOST_SUM else PhasesDoNotAddUp(ratio=ratio, least=LEAST_SUM, most=MOST_SUM)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTime:
    """Seconds of a layer: the median over the runs of each one's median."""

    name: str
    kind: str
    forward: float
    backward: float


def layer_times(runs: Sequence[Run]) -> list[LayerTime]:
    """The layers of a network in order, the loss last; none if some run has none."""
    found = [run.breakdown.layers if run.breakdown else () for run in runs]
    if not found or not all(found):
        return []
    return [
        LayerTime(
            name=of_each[0].name,
            kind=of_each[0].kind,
            forward=median(median(one.forward_seconds) for one in of_each),
            backward=median(median(one.backward_seconds) for one in of_each),
        )
        for of_each in zip(*found, strict=True)
    ]


def passes(runs: Sequence[Run]) -> tuple[float, float]:
    """Seconds of the whole network's forward and backward pass in runs whose layers were timed, the same medians."""
    found = [run.breakdown.phase_seconds for run in runs if run.breakdown]
    return median(median(one["forward"]) for one in found), median(median(one["backward"]) for one in found)
