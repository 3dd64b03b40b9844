"""The scale on which rules work: a difference above 0 is worse, whatever the metric."""

from math import exp, isfinite, log, nan

from pytest_dlbench.judging.metric import Metric

# Runs that agree better than this do so by chance, or because of the clock's resolution.
SMALLEST_SPREAD = {"ratio": 0.003, "points": 0.05}


def badness(metric: Metric, value: float) -> float:
    """ln(value) if lower is better, -ln(value) if higher is better; percentage points likewise, without ln.

    NaN for a figure that cannot be compared, such as a time of 0: no rule accepts it.
    """
    if not isfinite(value) or (metric.kind == "ratio" and value <= 0):
        return nan
    scaled = log(value) if metric.kind == "ratio" else 100 * value
    return scaled if metric.better == "lower" else -scaled


def limit(metric: Metric, tolerance: float) -> float:
    """A tolerance (0.05 for 5 %, 1.0 for 1 pp) as a difference."""
    return log(1 + tolerance) if metric.kind == "ratio" else tolerance


def tolerance_at(metric: Metric, tolerance: float, baseline: float) -> float:
    """The tolerance of a figure, as it is written (0.05 for 5 %): a default one is no less than ``least_change``.

    That is taken as a share of the baseline's figure, to a tenth of a percent.
    """
    if not metric.least_change or tolerance != metric.tolerance or not baseline > 0:
        return tolerance
    return max(tolerance, round(metric.least_change / baseline, 3))


def smallest_spread(metric: Metric) -> float:
    """The minimum standard deviation of a difference."""
    return SMALLEST_SPREAD[metric.kind] if metric.smallest_spread is None else metric.smallest_spread


def shown(
    metric: Metric, estimate: float, lower: float, upper: float
) -> tuple[float | None, float | None, float | None]:
    """A difference and its interval as in a Verdict: a ratio new / old, or points; None for no bound."""
    if metric.better == "higher":
        # 0 rather than -0, which would be shown with its sign.
        estimate, lower, upper = 0.0 - estimate, 0.0 - upper, 0.0 - lower
    return _shown(metric, estimate), _shown(metric, lower), _shown(metric, upper)


def _shown(metric: Metric, value: float) -> float | None:
    if not isfinite(value):
        return None
    return exp(value) if metric.kind == "ratio" else value
