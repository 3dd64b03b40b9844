"""The arrays of the synthetic data set."""

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.model import Shape


def prototypes_under_noise(shape: Shape, classes: int, *, examples: tuple[int, int], seed: int) -> Arrays:
    """Training and test examples: the mean of their class's prototype and of uniform noise, in [0, 1]."""
    generator = np.random.default_rng(seed)
    prototypes = generator.uniform(0, 1, size=(classes, *shape)).astype(np.float32)

    def split(count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        labels = generator.permutation(np.arange(count) % classes).astype(np.int64)
        noise = generator.uniform(0, 1, size=(count, *shape)).astype(np.float32)
        return (prototypes[labels] + noise) / np.float32(2), labels

    train, test = (split(count) for count in examples)
    return Arrays(train_inputs=train[0], train_labels=train[1], test_inputs=test[0], test_labels=test[1])
