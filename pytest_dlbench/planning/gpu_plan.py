"""What would run on another GPU than this machine has: where, and in how much memory and time at least."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from pytest_dlbench.data import ANY_SHAPE
from pytest_dlbench.environments import DEVICES, Framework
from pytest_dlbench.errors import ModelError
from pytest_dlbench.judging.utilisation import step_work
from pytest_dlbench.model import Model, Network, Recipe
from pytest_dlbench.model.traffic import NUMBER_BYTES, TOKEN_BYTES
from pytest_dlbench.planning.estimate import START_SECONDS
from pytest_dlbench.planning.plan import Outline, RunSettings

GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A model of GPU by its data sheet: memory, float32 arithmetic outside of tensor cores, and memory bandwidth.

    ``driver`` is the version that is assumed: the newest branch for GPUs that later ones do not support.
    """

    name: str
    capability: tuple[int, int]
    memory_gib: int
    flops_per_second: float
    bytes_per_second: float
    driver: str = "580.65.06"


# By NVIDIA's data sheets: of SXM modules where there are PCIe versions, too, except P100; without sparsity.
_SHEETS = (
    # One of the two GPUs of the board. Driver 470 is the last for Kepler.
    ("K80", (3, 7), 12, 4.4, 240, "470.256.02"),
    ("P4", (6, 1), 8, 5.5, 192),
    ("P100", (6, 0), 16, 9.3, 732),
    ("V100", (7, 0), 16, 15.7, 900),
    ("T4", (7, 5), 16, 8.1, 320),
    ("RTX-2080-Ti", (7, 5), 11, 13.4, 616),
    ("A100-40GB", (8, 0), 40, 19.5, 1555),
    ("A100-80GB", (8, 0), 80, 19.5, 2039),
    ("A10", (8, 6), 24, 31.2, 600),
    ("RTX-3090", (8, 6), 24, 35.6, 936),
    ("L4", (8, 9), 24, 30.3, 300),
    ("RTX-4090", (8, 9), 24, 82.6, 1008),
    ("L40S", (8, 9), 48, 91.6, 864),
    ("H100", (9, 0), 80, 67.0, 3350),
    ("H200", (9, 0), 141, 67.0, 4800),
    ("B200", (10, 0), 180, 75.0, 8000),
)
CARDS: Mapping[str, Card] = {
    name: Card(
        name=name,
        capability=capability,
        memory_gib=memory,
        flops_per_second=teraflops * 1e12,
        bytes_per_second=gigabytes * 1e9,
        **({"driver": driver[0]} if driver else {}),
    )
    for name, capability, memory, teraflops, gigabytes, *driver in _SHEETS
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A case on a GPU. ``reason`` says why it would not run, and is empty if it would.

    ``least_bytes`` is what weights, their gradients, optimiser slots, the data set and the outputs that a backward pass
    needs take together; ``least_seconds`` is one run at the GPU's peak. Both are bounds: no run needs less.
    """

    framework: str
    model: str
    environment: str = ""
    steps: int = 0
    least_bytes: int = 0
    least_seconds: float = 0.0
    reason: str = ""


def planned(
    card: Card, frameworks: Iterable[Framework], models: Iterable[Model], settings: RunSettings
) -> Iterator[Planned]:
    """Every framework with every model on a GPU, trained on synthetic data of the model's shape."""
    models = list(models)
    for framework in frameworks:
        reason, environment = unusable(framework, card)
        for model in models:
            case = Planned(framework=framework.name, model=model.name, environment=environment, reason=reason)
            yield case if reason else _case(case, card, framework, model, settings)


def unusable(framework: Framework, card: Card) -> tuple[str, str]:
    """Why a framework cannot compute on a GPU, empty if it can; and the environment that it would have there."""
    if framework.unsupported:
        return framework.unsupported, ""
    if not framework.gpu_needs:
        return "its builder is for processors", ""
    if not framework.gpu_environments:
        return f"no lock file has its build for GPUs: pip install {' '.join(framework.gpu_needs)}", ""
    (environment,) = framework.gpu_environments
    assert environment.cuda
    return environment.cuda.refusal(card.name, card.capability, card.driver), environment.name


def _case(case: Planned, card: Card, framework: Framework, model: Model, settings: RunSettings) -> Planned:
    try:
        outline = settings.outline(framework, model, ANY_SHAPE, DEVICES["gpu"])
    except ModelError as error:
        return Planned(framework=case.framework, model=case.model, reason=str(error))
    least = least_bytes(outline)
    reason = outline.refusal
    if not reason and least > card.memory_gib * GIB:
        reason = f"needs at least {least / GIB:.1f} GiB, the GPU has {card.memory_gib}"
    work = step_work(outline.network, outline.recipe)
    step = max(work.flops / card.flops_per_second, work.least_bytes / card.bytes_per_second)
    return Planned(
        framework=case.framework,
        model=case.model,
        environment=case.environment,
        steps=outline.steps,
        least_bytes=least,
        least_seconds=START_SECONDS + outline.steps * step,
        reason=reason,
    )


def least_bytes(outline: Outline) -> int:
    """Bytes on a GPU that a training cannot do without."""
    network, recipe = outline.network, outline.recipe
    # Gradients are as large as the weights.
    state = (2 + recipe.optimizer.slots) * network.parameter_count * NUMBER_BYTES[recipe.stored_precision]
    return state + _examples(outline) + _outputs(network, recipe)


def _examples(outline: Outline) -> int:
    """The training split, which is on the GPU as a whole unless a pipeline brings it batch by batch."""
    recipe, model = outline.recipe, outline.network.model
    size = TOKEN_BYTES if model.vocabulary else NUMBER_BYTES[recipe.stored_precision]
    count = recipe.batch_size if recipe.input == "pipeline" else outline.dataset.train_examples
    return count * prod(model.input_shape) * size


def _outputs(network: Network, recipe: Recipe) -> int:
    """The outputs of layers with multiply-adds: others can be fused with these, or recomputed."""
    made = (prod(placed.inferred.output) for placed in network.layers if placed.inferred.multiply_adds)
    return recipe.batch_size * sum(made) * NUMBER_BYTES[recipe.precision]
