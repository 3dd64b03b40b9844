"""Frameworks that trained one network with the same seeds: whether their accuracies differ by more than chance.

A seed gives all frameworks the same initial weights and the same order of the data, so that seeds are blocks: what a
seed does to the accuracy of one framework, it does to that of the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pytest_dlbench.judging.frameworks import ALPHA, iman_davenport

# Friedman's test ranks at least three. Fewer seeds say little of how far seeds are apart.
LEAST_FRAMEWORKS, LEAST_SEEDS = 3, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSeeds:
    """Standard deviations in percentage points, of runs that differ only in their framework or only in their seed.

    ``p_value``: how often equal frameworks differ this much in rank (Friedman's test in Iman and Davenport's form).
    """

    frameworks: int
    seeds: int
    of_frameworks: float
    of_seeds: float
    p_value: float

    @property
    def is_different(self) -> bool:
        """Whether the runs show that some frameworks reach another accuracy."""
        return self.p_value < ALPHA


def compare(accuracies: Mapping[str, Mapping[int, float]]) -> SharedSeeds | None:
    """Accuracies from 0 to 1 by framework and seed; frameworks with fewer than five seeds are not compared.

    None for fewer than three frameworks with five seeds in common.
    """
    found = {name: of for name, of in accuracies.items() if len(of) >= LEAST_SEEDS}
    shared = sorted(set.intersection(*map(set, found.values()))) if found else []
    if len(found) < LEAST_FRAMEWORKS or len(shared) < LEAST_SEEDS:
        return None
    table = 100 * np.array([[of[seed] for seed in shared] for of in found.values()])
    return SharedSeeds(
        frameworks=len(found),
        seeds=len(shared),
        of_frameworks=float(np.sqrt(table.var(axis=0, ddof=1).mean())),
        of_seeds=float(np.sqrt(table.var(axis=1, ddof=1).mean())),
        p_value=iman_davenport(table),
    )
