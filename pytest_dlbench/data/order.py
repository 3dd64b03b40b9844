"""Which examples go into which step: the same for every framework."""

import numpy as np
from numpy.typing import NDArray


def batches(*, examples: int, batch_size: int, steps: int, seed: int) -> NDArray[np.int64]:
    """One row of example positions a step (steps×batch).

    Every epoch is a new permutation; the examples that fill no whole batch at its end are left out.
    """
    per_epoch = examples // batch_size
    if not per_epoch:
        raise ValueError(f"a batch of {batch_size} is more than the {examples} examples")
    generator = np.random.default_rng(seed)
    epochs = -(-steps // per_epoch)
    rows = [generator.permutation(examples)[: per_epoch * batch_size] for _ in range(epochs)]
    return np.concatenate(rows).reshape(-1, batch_size)[:steps]
