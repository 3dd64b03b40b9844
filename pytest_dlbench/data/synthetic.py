"""Made-up images of any shape that can be learned: one seeded prototype a class, under noise."""

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.model import Shape

TRAIN_EXAMPLES = 1280
TEST_EXAMPLES = 320
SEED = 20261121


def _make(shape: Shape, classes: int) -> Arrays:
    generator = np.random.default_rng(SEED)
    prototypes = generator.uniform(0, 1, size=(classes, *shape)).astype(np.float32)

    def split(examples: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        labels = generator.permutation(np.arange(examples) % classes).astype(np.int64)
        noise = generator.uniform(0, 1, size=(examples, *shape)).astype(np.float32)
        return (prototypes[labels] + noise) / np.float32(2), labels

    train, test = split(TRAIN_EXAMPLES), split(TEST_EXAMPLES)
    return Arrays(train_images=train[0], train_labels=train[1], test_images=test[0], test_labels=test[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticData:
    """The data set that takes the shape and the classes of whatever model it meets."""

    name: str = "synthetic"
    shape: None = None
    classes: None = None
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
