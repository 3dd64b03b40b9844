"""Long series with fewer points, for a page that must stay small."""

from collections.abc import Sequence
from statistics import median

EXACT = 20


def thinned(values: Sequence[float], points: int) -> list[tuple[int, float]]:
    """At most so many points as (index, value): the first twenty as they are, then medians of equal stretches.

    The index is that of the first value of a stretch.
    """
    if len(values) <= points:
        return list(enumerate(values))
    rest = len(values) - EXACT
    stretch = -(-rest // (points - EXACT))
    starts = range(EXACT, len(values), stretch)
    return [*enumerate(values[:EXACT]), *((start, median(values[start : start + stretch])) for start in starts)]
