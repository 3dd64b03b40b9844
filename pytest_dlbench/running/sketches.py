"""A few numbers in place of the outputs of a batch, by which those of two frameworks are compared."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Sums with random signs: of n outputs that each differ by e, every sum differs by about e·√n.
SUMS, SEED = 16, 20261125


def sketch(outputs: NDArray[Any]) -> tuple[float, ...]:
    """Sums of all outputs with random signs, always the same ones, each divided by the root of their number."""
    numbers = np.asarray(outputs, dtype=np.float64).reshape(-1)
    generator = np.random.default_rng(SEED)
    signs = (generator.integers(0, 2, size=numbers.size, dtype=np.int8) * 2 - 1 for _ in range(SUMS))
    return tuple(float(numbers @ of_sum) / float(np.sqrt(numbers.size)) for of_sum in signs)
