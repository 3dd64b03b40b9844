"""What would run on another GPU than this machine has: where, and in how much memory and time at least."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from pytest_dlbench.data import ANY_SHAPE
from pytest_dlbench.environments import DEVICES, Framework
from pytest_dlbench.environments.frameworks import FOR_PROCESSORS
from pytest_dlbench.errors import ModelError
from pytest_dlbench.judging.data_sheets import Card
from pytest_dlbench.model import Model, Network, Recipe
from pytest_dlbench.model.traffic import NUMBER_BYTES, TOKEN_BYTES
from pytest_dlbench.planning.gpu_seconds import Parts, parts_of
from pytest_dlbench.planning.plan import Outline, RunSettings

GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A case on a GPU. ``reason`` says why it would not run, and is empty if it would.

    ``least_bytes`` is what weights, their gradients, optimiser slots, the data set and the outputs that a backward pass
    needs take together: no run needs less. ``steps`` are the minimum. ``expected_seconds`` are those of one run, by the
    model of ``planning.gpu_seconds``, whose ``parts`` they are the sum of; None if it would not run.
    """

    framework: str
    model: str
    environment: str = ""
    steps: int = 0
    least_bytes: int = 0
    expected_seconds: float = 0.0
    parts: Parts | None = None
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
    if framework.is_for_processors:
        return FOR_PROCESSORS, ""
    if not framework.gpu_environments:
        why = framework.gpu_unlocked or "no lock file has its build for GPUs"
        return f"{why}: pip install {' '.join(framework.gpu_needs)}", ""
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
    parts = None if reason else parts_of(outline, card)
    return Planned(
        framework=case.framework,
        model=case.model,
        environment=case.environment,
        steps=outline.steps,
        least_bytes=least,
        expected_seconds=parts.total if parts else 0.0,
        parts=parts,
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
    count = recipe.batch_size if recipe.input != "memory" else outline.dataset.train_examples
    return count * prod(model.input_shape) * size


def _outputs(network: Network, recipe: Recipe) -> int:
    """The outputs of layers with multiply-adds: others can be fused with these, or recomputed."""
    made = (prod(placed.inferred.output) for placed in network.layers if placed.inferred.multiply_adds)
    return recipe.batch_size * sum(made) * NUMBER_BYTES[recipe.precision]
