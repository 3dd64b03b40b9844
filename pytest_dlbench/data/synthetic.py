"""Made-up images of any shape that can be learned: one seeded prototype a class, under noise."""

from dataclasses import dataclass
from functools import lru_cache, partial

from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.model import Shape

TRAIN_EXAMPLES = 1280
TEST_EXAMPLES = 320
SEED = 20261121


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticData:
    """The data set that takes the shape and the classes of whatever model it meets."""

    name: str = "synthetic"
    shape: None = None
    classes: None = None
    task: None = None
    vocabulary: None = None
    label_shape: Shape = ()
    marks: tuple[str, ...] = ()


ANY_SHAPE = SyntheticData()


@lru_cache(maxsize=256)
def synthetic(shape: Shape, classes: int) -> Dataset:
    """The synthetic data set for one input shape and number of classes."""
    return Dataset(
        name=f"{ANY_SHAPE.name}-{'x'.join(map(str, shape))}-{classes}",
        version=1,
        shape=shape,
        classes=classes,
        train_examples=TRAIN_EXAMPLES,
        test_examples=TEST_EXAMPLES,
        make=partial(_make, shape, classes),
    )


def _make(shape: Shape, classes: int) -> Arrays:
    # Late: NumPy is slow to load, and needed once for each cache.
    from pytest_dlbench.data.synthetic_arrays import prototypes_under_noise  # noqa: PLC0415

    return prototypes_under_noise(shape, classes, examples=(TRAIN_EXAMPLES, TEST_EXAMPLES), seed=SEED)
