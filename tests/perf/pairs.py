"""Ratios of arms that were run in turn, with a bootstrap interval of their median."""

from collections.abc import Sequence

import numpy as np
from scipy import stats


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> str:
    """``1.003 [0.998, 1.008] (60 pairs)``: the median over pairs and its 95 % percentile bootstrap interval."""
    ratios = np.array(numerators) / np.array(denominators)
    interval = stats.bootstrap(
        (ratios,), np.median, method="percentile", n_resamples=5000, rng=np.random.default_rng(1)
    ).confidence_interval
    return f"{np.median(ratios):.4f} [{interval.low:.4f}, {interval.high:.4f}] ({len(ratios)} pairs)"
