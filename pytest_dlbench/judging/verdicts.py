"""Compares runs with runs: the interval of the change with the tolerance. "Not significant" is never "fine"."""

from collections.abc import Mapping, Sequence
from math import exp, isfinite, log

import numpy as np

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import accuracy
from pytest_dlbench.judging.intervals import Interval, Values, centre, unpaired
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.records import Run, Verdict, VerdictOutcome

# On either side: a change exactly at the tolerance is called a regression in 5 % of sessions.
ALPHA = 0.05


def measured(runs: Sequence[Run], metric: Metric, figures: Mapping[str, Sequence[float]]) -> Mapping[int, float]:
    """The figures of this session's runs by seed; raises DlbenchError if one cannot be compared."""
    if metric.name not in figures:
        raise DlbenchError(
            f"{runs[0].case} cannot be compared: not every run has a {metric.name}; give it no tolerance"
        )
    for run, value in zip(runs, figures[metric.name], strict=True):
        if not is_comparable(metric, value):
            raise DlbenchError(f"{run.case} cannot be compared: {metric.name} is {value} in the run of seed {run.seed}")
    return dict(zip((run.seed for run in runs), figures[metric.name], strict=True))


def is_comparable(metric: Metric, value: float) -> bool:
    """Whether a value is finite, possible in its unit, and above 0 for ratios."""
    return isfinite(value) and value <= metric.largest and (value > 0 or metric.kind == "points")


def of_runs(metric: Metric, old: Mapping[int, float], new: Mapping[int, float], tolerance: float) -> Verdict:
    """Compare runs with runs; ``old`` and ``new`` are values by seed."""
    if metric.kind == "points":
        return accuracy.verdict(metric, old, new, tolerance)
    change = _log_ratio(metric, _array(old), _array(new))
    shown = Interval(estimate=exp(change.estimate), lower=exp(change.lower), upper=exp(change.upper))
    return Verdict(
        metric=metric.name,
        outcome=decide(change, log(1 + tolerance), is_lower_better=metric.better == "lower"),
        old=_centre(metric, _array(old)),
        new=_centre(metric, _array(new)),
        change=shown.estimate,
        lower=shown.lower,
        upper=shown.upper,
        tolerance=tolerance,
    )


def decide(change: Interval, limit: float, *, is_lower_better: bool) -> VerdictOutcome:
    """Regressed or improved if the whole interval is beyond the limit, equivalent if it is within ±limit."""
    worse, better = (change.lower, change.upper) if is_lower_better else (-change.upper, -change.lower)
    if worse > limit:
        return VerdictOutcome.REGRESSED
    if better < -limit:
        return VerdictOutcome.IMPROVED
    if worse > -limit and better < limit:
        return VerdictOutcome.EQUIVALENT
    return VerdictOutcome.INCONCLUSIVE


def _log_ratio(metric: Metric, old: Values, new: Values) -> Interval:
    return unpaired(
        np.log(old),
        np.log(new),
        run_sd=metric.run_sd,
        session_sd=metric.session_sd,
        is_robust=metric.is_robust,
        alpha=ALPHA,
    )


def _centre(metric: Metric, values: Values) -> float:
    """The figure shown for one side of a ratio metric, so that new / old is the ratio shown."""
    return exp(centre(np.log(values), run_sd=metric.run_sd, is_robust=metric.is_robust))


def _array(values: Mapping[int, float]) -> Values:
    return np.array(list(values.values()), dtype=np.float64)
