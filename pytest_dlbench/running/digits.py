"""Figures of single steps without the digits that they do not have, which would double the size of a journal."""

from collections.abc import Iterable, Sequence

import numpy as np

# Clocks count nanoseconds; differences of floating-point seconds have about eight digits more.
OF_SECONDS = 9


def seconds(values: Iterable[float]) -> tuple[float, ...]:
    """Times of a clock, to the nanosecond."""
    return tuple(round(value, OF_SECONDS) for value in values)


def losses(values: Sequence[float]) -> tuple[float, ...]:
    """Losses that a framework computed in float32, each with the shortest decimal that is the same number in float32.

    Others stay as they are. Losses of one precision are equal or different as before.
    """
    # What is above the largest number of float32 becomes infinite, and so is another number.
    with np.errstate(over="ignore"):
        singles = np.array(values, dtype=np.float32)
    pairs = zip(values, singles, strict=True)
    return tuple(float(str(single)) if float(single) == value else value for value, single in pairs)
