"""What one run is to do, as data that could be sent to another host."""

from dataclasses import asdict, dataclass
from typing import Any

from pytest_dlbench.data import Prepared
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import Absent, Place
from pytest_dlbench.model import Network, Purpose, Recipe
from pytest_dlbench.records import Case
from pytest_dlbench.running import launch

SAMPLE_PERIOD_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
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
    """Whether its figures are looked at: what only computes may do so alongside others of its kind."""
    cores: frozenset[int] = frozenset()
    """The processors that a worker without a card may use; those that its number of threads gets if empty."""
    sample_period_seconds: float = SAMPLE_PERIOD_SECONDS
    """From one sample of the worker to the next."""
    purpose: Purpose = "training"
    is_profiled: bool = False
    """Whether steps are taken again under the framework's own profiler, and nothing else after them."""
    slowdown: float = 0.0
    """A fault that is planted for a calibration: by this share each step takes longer."""
    evaluate_after: tuple[int, ...] = ()
    """Steps after which the test split is evaluated, in addition to the last."""
    target_accuracy: float | None = None
    allocator: str = launch.TUNED


def recipe_json(recipe: Recipe) -> dict[str, Any]:
    """The recipe as the worker gets it and as records keep it."""
    parts = {"optimizer": recipe.optimizer, "schedule": recipe.schedule}
    named = {name: {"kind": part.kind, **asdict(part)} for name, part in parts.items() if part}
    return {**asdict(recipe), **named}
