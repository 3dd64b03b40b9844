"""How fast this machine multiplies matrices and copies memory: a separate program that needs only NumPy.

``python speed_program.py PRECISION`` prints three numbers: floating-point operations per second, bytes copied per
second, and the seconds that the smallest operation takes.
"""

import sys
from collections.abc import Callable
from time import monotonic

import numpy as np

SIZE = 1024
COPIED_BYTES = 2**26
SECONDS = 0.25
LAUNCHES = 1000


def best_seconds(call: Callable[[], object]) -> float:
    """The shortest of the calls that fit into SECONDS, at least three: the peak is the least disturbed call."""
    taken: list[float] = []
    until = monotonic() + SECONDS
    while monotonic() < until or len(taken) < 3:
        began = monotonic()
        call()
        taken.append(monotonic() - began)
    return min(taken)


def launched(number: np.ndarray) -> None:
    """Run LAUNCHES operations that compute next to nothing."""
    for _ in range(LAUNCHES):
        np.negative(number, out=number)


def main(precision: str) -> None:
    """Measure and print."""
    matrix = np.ones((SIZE, SIZE), dtype=precision)
    product = np.empty_like(matrix)
    source = np.ones(COPIED_BYTES, dtype=np.uint8)
    target = np.ones_like(source)
    flops = 2 * SIZE**3 / best_seconds(lambda: np.matmul(matrix, matrix, out=product))
    # Each copied byte is read and written.
    copied = 2 * COPIED_BYTES / best_seconds(lambda: np.copyto(target, source))
    launch = best_seconds(lambda: launched(np.zeros(1, dtype=precision))) / LAUNCHES
    print(flops, copied, launch)


if __name__ == "__main__":
    main(sys.argv[1])
