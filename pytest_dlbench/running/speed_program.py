"""How fast this machine multiplies matrices and copies memory: a program of its own, with NumPy alone.

``python speed_program.py PRECISION`` prints two numbers: floating-point operations a second, and bytes a second.
"""

import sys
from collections.abc import Callable
from time import monotonic

import numpy as np

SIZE = 1024
COPIED_BYTES = 2**26
SECONDS = 0.25


def best_seconds(call: Callable[[], object]) -> float:
    """The shortest of as many calls as fit in, three at least: a peak is what nobody disturbed."""
    taken: list[float] = []
    until = monotonic() + SECONDS
    while monotonic() < until or len(taken) < 3:
        began = monotonic()
        call()
        taken.append(monotonic() - began)
    return min(taken)


def main(precision: str) -> None:
    """Measure and print."""
    matrix = np.ones((SIZE, SIZE), dtype=precision)
    product = np.empty_like(matrix)
    source = np.ones(COPIED_BYTES, dtype=np.uint8)
    target = np.ones_like(source)
    flops = 2 * SIZE**3 / best_seconds(lambda: np.matmul(matrix, matrix, out=product))
    # A byte that is copied is read and written.
    copied = 2 * COPIED_BYTES / best_seconds(lambda: np.copyto(target, source))
    print(flops, copied)


if __name__ == "__main__":
    main(sys.argv[1])
