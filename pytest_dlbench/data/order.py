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
