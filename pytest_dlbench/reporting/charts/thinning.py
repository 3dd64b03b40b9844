"""Long series with fewer points, to keep the page small."""

from collections.abc import Sequence
from statistics import median

EXACT = 20


def thinned(values: Sequence[float], points: int) -> list[tuple[int, float]]:
    """At most ``points`` pairs of index and value: the first EXACT ones unchanged, then medians of equal stretches.

    The index is that of the first value of a stretch.
    """
    if len(values) <= points:
        return list(enumerate(values))
    rest = len(values) - EXACT
    stretch = -(-rest // (points - EXACT))
    starts = range(EXACT, len(values), stretch)
    return [*enumerate(values[:EXACT]), *((start, median(values[start : start + stretch])) for start in starts)]
