"""Which phase of a run takes longer: the first question about a regression."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.readings import evaluation_time
from pytest_dlbench.records import Run

# Smaller changes of a phase's median are not reported, nor are phases shorter than a clock tick.
SMALLEST_CHANGE = 0.03
SHORTEST_SECONDS = 0.001

PHASES: Mapping[str, Callable[[Run], float]] = {
    "import": METRICS["import_time"].figure,
    "build": METRICS["build_time"].figure,
    "first step": METRICS["first_step"].figure,
    "step": METRICS["step_time_median"].figure,
    "evaluation": evaluation_time,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Seconds of a phase: the median over the runs of each side."""

    phase: str
    old: float
    new: float

    @property
    def direction(self) -> str:
        """Longer or shorter."""
        return "longer" if self.new > self.old else "shorter"


def growths(old: Sequence[Run], new: Sequence[Run]) -> tuple[Growth, ...]:
    """The phases whose duration changed, largest change in seconds first."""
    found = [
        Growth(phase=phase, old=median(map(seconds, old)), new=median(map(seconds, new)))
        for phase, seconds in PHASES.items()
    ]
    reported = [growth for growth in found if _is_reported(growth)]
    return tuple(sorted(reported, key=lambda growth: -abs(growth.new - growth.old)))


def _is_reported(growth: Growth) -> bool:
    longest = max(growth.old, growth.new)
    return longest > SHORTEST_SECONDS and abs(growth.new - growth.old) > SMALLEST_CHANGE * longest
