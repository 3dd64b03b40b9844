"""Which part of a run grew: what a regression's reader asks first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.records import Run

# A phase whose median changed by less than this is not worth a line; neither is one that is shorter than a clock tick.
WORTH_TELLING = 0.03
SHORTEST_SECONDS = 0.001

PHASES: Mapping[str, Callable[[Run], float]] = {
    "import": METRICS["import_time"].figure,
    "build": METRICS["build_time"].figure,
    "first step": METRICS["first_step"].figure,
    "step": METRICS["step_time_median"].figure,
    "evaluation": lambda run: run.evaluation.seconds if run.evaluation else 0.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Seconds of a phase, medians over the runs of either side."""

    phase: str
    old: float
    new: float

    @property
    def direction(self) -> str:
        """Longer or shorter."""
        return "longer" if self.new > self.old else "shorter"


def growths(old: Sequence[Run], new: Sequence[Run]) -> tuple[Growth, ...]:
    """The phases that take longer or shorter than before, the largest change of seconds first."""
    found = [
        Growth(phase=phase, old=median(map(seconds, old)), new=median(map(seconds, new)))
        for phase, seconds in PHASES.items()
    ]
    told = [growth for growth in found if _is_worth_telling(growth)]
    return tuple(sorted(told, key=lambda growth: -abs(growth.new - growth.old)))


def _is_worth_telling(growth: Growth) -> bool:
    longest = max(growth.old, growth.new)
    return longest > SHORTEST_SECONDS and abs(growth.new - growth.old) > WORTH_TELLING * longest
