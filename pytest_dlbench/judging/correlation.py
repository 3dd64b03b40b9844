"""Whether longer training is more accurate: the correlation of epochs and accuracy within a run.

The evaluations of a run are not independent of each other, so that a p-value of their correlation would say nothing:
runs are the units, and the spread of their coefficients shows how well one is known.
"""

from dataclasses import dataclass

import numpy as np

from pytest_dlbench.records import Run

# Any two points are on a line.
LEAST_POINTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Of the epochs and the test accuracies of one run: how close to a line (Pearson), to monotonous (Spearman)."""

    pearson: float
    spearman: float
    points: int


def epochs_and_accuracy(run: Run) -> Correlation | None:
    """None for a run with fewer than three evaluations, or whose accuracy never changed."""
    from scipy import stats  # noqa: PLC0415 - as in intervals

    epochs, accuracies = (np.array([getattr(point, name) for point in run.curve]) for name in ("epoch", "accuracy"))
    if len(epochs) < LEAST_POINTS or not np.ptp(accuracies) or not np.ptp(epochs):
        return None
    return Correlation(
        pearson=float(stats.pearsonr(epochs, accuracies).statistic),
        spearman=float(stats.spearmanr(epochs, accuracies).statistic),
        points=len(epochs),
    )
