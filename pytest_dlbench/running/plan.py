"""What one run is to do."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from pytest_dlbench.data import Prepared
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import Absent, Place
from pytest_dlbench.model import Network, Purpose, Recipe
from pytest_dlbench.records import Case, StepCheck
from pytest_dlbench.running import launch
from pytest_dlbench.sampling.sampler import MakeSampler

SAMPLE_PERIOD_SECONDS = 0.2


def _to_nobody(phase: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a run of one case needs. Run ``index`` has the seed ``seed + index``.

    ``recipe_steps`` are all that the recipe has, of which ``steps`` may be a part.
    """

    case: Case
    framework: Framework
    place: Place | Absent
    network: Network
    recipe: Recipe
    data: Prepared
    steps: int
    seed: int
    timeout_seconds: float
    evaluations: int = 1
    """How often the test split is evaluated after training; all must give the same to the bit."""
    recipe_steps: int | None = None
    card: str = ""
    """The graphics card that the run has, by its index or UUID; all that there are if empty."""
    is_timed: bool = True
    """Whether its figures are looked at: what only computes may do so beside others of its kind."""
    cores: frozenset[int] = frozenset()
    """The processors that a worker without a card may use; those that its number of threads gets if empty."""
    samplers: tuple[MakeSampler, ...] = ()
    sample_period_seconds: float = SAMPLE_PERIOD_SECONDS
    """From one sample of the worker to the next."""
    is_suspicious: Callable[[StepCheck], bool] | None = None
    """Whether a check of the first run's steps is to be repeated. Without it they are not checked."""
    purpose: Purpose = "training"
    is_profiled: bool = False
    """Whether steps are taken again under the framework's own profiler, and nothing else behind them."""
    slowdown: float = 0.0
    """A fault that is planted for a calibration: by this share each step takes longer."""
    evaluate_after: tuple[int, ...] = ()
    """Steps behind which the test split is evaluated, beside the last."""
    target_accuracy: float | None = None
    allocator: str = launch.TUNED
    enters: Callable[[str], None] = _to_nobody
    """Is told of each phase before its request is sent, while the worker still waits."""


def recipe_json(recipe: Recipe) -> dict[str, Any]:
    """The recipe as the worker gets it and as records keep it."""
    parts = {"optimizer": recipe.optimizer, "schedule": recipe.schedule}
    named = {name: {"kind": part.kind, **asdict(part)} for name, part in parts.items() if part}
    return {**asdict(recipe), **named}
