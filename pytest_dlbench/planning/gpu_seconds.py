"""How long a run on a GPU should take: a model of its parts.

What happens on the host (imports, builds, compilation in the first step) is as measured for each framework on a
processor, and launching kernels as measured on one H100 (docs/reference/gpu-check.md). The rest follows from the GPU's
data sheet and one estimate, SHARE_OF_PEAK.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dlbench.judging.data_sheets import Card
from pytest_dlbench.judging.utilisation import step_work
from pytest_dlbench.planning.plan import Outline, evaluations, most_steps

# Seconds of import, build and first step of tartu-mnist-cnn, on two cores of an AMD EPYC: the table "On digits" of
# docs/reference/framework-comparison.md. Only of frameworks that have code for GPUs.
MEASURED: Mapping[str, tuple[float, float, float]] = {
    "tensorflow": (2.21, 0.102, 0.219),
    "keras-tensorflow": (2.21, 0.133, 0.644),
    "mxnet": (0.755, 0.0359, 0.0837),
    "pytorch": (1.15, 1.40, 0.0444),
    "mxnet-imperative": (0.841, 0.0332, 0.0721),
    "pytorch-compile": (0.990, 1.96, 1.64),
    "tensorflow-xla": (2.33, 0.0985, 1.75),
    "keras-torch": (2.63, 0.0396, 0.0759),
    "pytorch-1.0": (0.169, 0.0301, 0.0538),
    "jax": (0.516, 0.439, 2.88),
    "keras-jax": (0.854, 1.95, 2.44),
    "chainer": (0.296, 0.0344, 0.0901),
    "paddle": (0.803, 0.0220, 0.141),
    "tinygrad": (0.117, 0.537, 6.69),
    "mlx": (0.0225, 0.0102, 0.848),
}
# The number of its layers: compilation takes about as much longer as a network has more.
MEASURED_LAYERS = 11
# A context of CUDA, and its libraries with their kernels: 0.6 s in PyTorch, 2.3 s in JAX.
DEVICE_SECONDS = 2.0
# The share of the data sheet's arithmetic that steps reach.
SHARE_OF_PEAK = 0.3
# The host's time to launch a layer's kernels, both ways: steps of LeNet on digits, in batches of 32, over its 8 layers.
LAYER_SECONDS: Mapping[str, float] = {"jax": 8e-5, "pytorch": 1.9e-4, "keras-torch": 6.5e-4}
# Of a framework that has not run on a GPU: PyTorch's.
USUAL_LAYER_SECONDS = LAYER_SECONDS["pytorch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Seconds of the parts of a run, and how many steps it takes."""

    start_seconds: float
    first_step_seconds: float
    timed_seconds: float
    evaluation_seconds: float
    steps: int

    @property
    def total(self) -> float:
        """The seconds of the run."""
        return self.start_seconds + self.first_step_seconds + self.timed_seconds + self.evaluation_seconds


def parts_of(outline: Outline, card: Card) -> Parts:
    """The parts of one training on a GPU."""
    starting, building, first = MEASURED.get(outline.framework.plain_name, _mean())
    step, steps = step_seconds(outline, card), expected_steps(outline, card)
    between = evaluations(outline.recipe, outline.dataset, outline.case.scale, steps)
    # A forward pass is a third of a step.
    evaluation = step / 3 * outline.dataset.test_examples / outline.recipe.batch_size
    return Parts(
        start_seconds=starting + building + DEVICE_SECONDS,
        first_step_seconds=first * max(1.0, len(outline.network.layers) / MEASURED_LAYERS),
        timed_seconds=steps * step,
        evaluation_seconds=(len(between) + 1) * evaluation,
        steps=steps,
    )


def step_seconds(outline: Outline, card: Card) -> float:
    """One step: its arithmetic, its bytes, or launching its kernels, whichever takes longest."""
    recipe, work = outline.recipe, step_work(outline.network, outline.recipe)
    arithmetic = work.flops / (SHARE_OF_PEAK * card.peak(recipe.precision, recipe.execution))
    launches = LAYER_SECONDS.get(outline.framework.plain_name, USUAL_LAYER_SECONDS) * len(outline.network.layers)
    return max(arithmetic, work.least_bytes / card.bytes_per_second, launches)


def expected_steps(outline: Outline, card: Card) -> int:
    """Those of the scale, doubled as ``lengths.probed`` does until they last long enough, at most the recipe's."""
    step, steps = step_seconds(outline, card), outline.steps
    while steps and steps * step < outline.least_seconds:
        steps *= 2
    return int(min(steps, max(outline.steps, most_steps(outline.case.dataset, outline.recipe_steps))))


def _mean() -> tuple[float, float, float]:
    """Of a framework that was not measured, such as a user's own."""
    starting, building, first = (sum(part) / len(MEASURED) for part in zip(*MEASURED.values(), strict=True))
    return starting, building, first
