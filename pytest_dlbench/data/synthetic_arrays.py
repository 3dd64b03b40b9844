"""The arrays of synthetic images and vectors."""

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.model import Shape

# Where there are more classes than training examples: examples of each class that occurs.
EXAMPLES_OF_EACH = 8


def prototypes_under_noise(shape: Shape, classes: int, *, examples: tuple[int, int], seed: int) -> Arrays:
    """Training and test examples: the mean of their class's prototype and of uniform noise, in [0, 1].

    Where there are more classes than training examples only the first few classes occur: a prototype for each of many
    thousand would take gigabytes, and could not be learned from no example.
    """
    generator = np.random.default_rng(seed)
    occurring = classes if classes <= examples[0] else max(1, examples[0] // EXAMPLES_OF_EACH)
    prototypes = generator.uniform(0, 1, size=(occurring, *shape)).astype(np.float32)

    def split(count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        labels = generator.permutation(np.arange(count) % occurring).astype(np.int64)
        noise = generator.uniform(0, 1, size=(count, *shape)).astype(np.float32)
        return (prototypes[labels] + noise) / np.float32(2), labels

    train, test = (split(count) for count in examples)
    return Arrays(train_inputs=train[0], train_labels=train[1], test_inputs=test[0], test_labels=test[1])


def flags_of_patterns(shape: Shape, classes: int, *, examples: tuple[int, int], seed: int) -> Arrays:
    """Images with a seeded pattern added for each flag or taken away, under noise, in [0, 1].

    A flag is 1 where the image, less its mean of 0.5, and the flag's pattern have a positive inner product.
    """
    generator = np.random.default_rng(seed)
    patterns = generator.choice(np.array([-1, 1], dtype=np.float32), size=(classes, *shape))

    def split(count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        signs = generator.choice(np.array([-1, 1], dtype=np.float32), size=(count, classes))
        noise = generator.uniform(-1, 1, size=(count, *shape)).astype(np.float32)
        # Within ±0.5 whatever the signs.
        signal = np.tensordot(signs, patterns, axes=1) / np.float32(4 * classes)
        images = signal + noise / np.float32(4)
        scores = np.tensordot(images, patterns, axes=(range(1, 1 + len(shape)), range(1, 1 + len(shape))))
        return images + np.float32(0.5), (scores > 0).astype(np.float32)

    train, test = (split(count) for count in examples)
    return Arrays(train_inputs=train[0], train_labels=train[1], test_inputs=test[0], test_labels=test[1])
