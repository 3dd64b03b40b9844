"""The level of a single look: testing after every pair must not inflate the error rate.

The table is computed by tests/characteristics/calibrate.py, which explains how.
"""

import json
from functools import cache
from importlib.resources import files
from math import exp, log

FIRST_LOOK = 3
LAST_LOOK = 20
# The smallest level in the table.
LEAST_ALPHA = 0.00001


def level_of_a_look(alpha: float, max_pairs: int) -> float:
    """The one-sided level of each look after pairs 3..max_pairs, so that all looks together err with ``alpha``.

    Interpolates between the table's levels on a logarithmic scale. Raises ValueError outside of the table.
    """
    alphas, levels = _table()
    if not FIRST_LOOK <= max_pairs <= LAST_LOOK:
        raise ValueError(f"expected {FIRST_LOOK} to {LAST_LOOK} pairs at most, got {max_pairs}")
    if not alphas[-1] <= alpha <= alphas[0]:
        raise ValueError(f"expected a level from {alphas[-1]} to {alphas[0]}, got {alpha}")
    row = levels[str(max_pairs)]
    right = next(place for place, known in enumerate(alphas) if known <= alpha)
    if alphas[right] == alpha:
        return row[right]
    left = right - 1
    share = (log(alpha) - log(alphas[left])) / (log(alphas[right]) - log(alphas[left]))
    return exp(log(row[left]) + share * (log(row[right]) - log(row[left])))


@cache
def _table() -> tuple[tuple[float, ...], dict[str, tuple[float, ...]]]:
    table = json.loads(files("pytest_dlbench.judging").joinpath("alpha_prime.json").read_text(encoding="utf-8"))
    return tuple(table["alphas"]), {pairs: tuple(row) for pairs, row in table["levels"].items()}
