"""The examples of each step, which are the same for every framework."""

import numpy as np
from numpy.typing import NDArray


def batches(*, examples: int, batch_size: int, steps: int, seed: int) -> NDArray[np.int64]:
    """Example indices, one row per step (steps×batch).

    Every epoch is a new permutation; an incomplete batch at its end is dropped.
    """
    per_epoch = examples // batch_size
    if not per_epoch:
        raise ValueError(f"a batch of {batch_size} is more than the {examples} examples")
    generator = np.random.default_rng(seed)
    epochs = -(-steps // per_epoch)
    rows = [generator.permutation(examples)[: per_epoch * batch_size] for _ in range(epochs)]
    return np.concatenate(rows).reshape(-1, batch_size)[:steps]


def augmentations(*, steps: int, batch_size: int, crop_padding: int, flips: bool, seed: int) -> NDArray[np.int16]:
    """For every example of each step (steps×batch×3): where its window begins, top and left, and whether it is flipped.

    The numbers do not depend on the order of the examples, nor the order on them.
    """
    generator = np.random.default_rng((seed, 1))
    places = generator.integers(0, 2 * crop_padding + 1, size=(steps, batch_size, 2))
    flipped = generator.integers(0, 2, size=(steps, batch_size, 1)) * flips
    return np.concatenate([places, flipped], axis=2).astype(np.int16)
