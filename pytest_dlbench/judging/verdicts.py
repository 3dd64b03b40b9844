"""Runs against runs: the interval of the change against the tolerance. "Not significant" is never "fine"."""

from collections.abc import Mapping, Sequence
from math import exp, isfinite, log, sqrt

import numpy as np

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.intervals import Interval, Values, centre, paired, unpaired
from pytest_dlbench.judging.metrics import Metric
from pytest_dlbench.records import Run, Verdict, VerdictOutcome

# On either side: a change that is exactly at the tolerance is called a regression in 5 % of sessions.
ALPHA = 0.05


def measured(runs: Sequence[Run], metric: Metric, figures: Mapping[str, Sequence[float]]) -> Mapping[int, float]:
    """The figures of this session's runs by their seeds; raises DlbenchError for what cannot be compared."""
    if metric.name not in figures:
        raise DlbenchError(
            f"{runs[0].case} cannot be compared: not every run has a {metric.name}; give it no tolerance"
        )
    for run, value in zip(runs, figures[metric.name], strict=True):
        if not is_comparable(metric, value):
            raise DlbenchError(f"{run.case} cannot be compared: {metric.name} is {value} in the run of seed {run.seed}")
    return dict(zip((run.seed for run in runs), figures[metric.name], strict=True))


def is_comparable(metric: Metric, value: float) -> bool:
    """Neither zero nor a negative number has a ratio."""
    return isfinite(value) and (value > 0 or metric.kind == "points")


def of_runs(metric: Metric, old: Mapping[int, float], new: Mapping[int, float], tolerance: float) -> Verdict:
    """Runs against runs: ``old`` and ``new`` are values by seed."""
    if metric.kind == "points":
        # Runs of one seed belong together. Where every new run has its old one, the old ones without a partner, and
        # with them the luck of their seeds, are left out; otherwise no run of either side is.
        old = {seed: old[seed] for seed in new} if new.keys() <= old.keys() else old
        change = _points(metric, old, new)
        limit, shown = tolerance, change
    else:
        change = _log_ratio(metric, _array(old), _array(new))
        limit = log(1 + tolerance)
        shown = Interval(estimate=exp(change.estimate), lower=exp(change.lower), upper=exp(change.upper))
    return Verdict(
        metric=metric.name,
        outcome=decide(change, limit, is_lower_better=metric.better == "lower"),
        old=_centre(metric, _array(old)),
        new=_centre(metric, _array(new)),
        change=shown.estimate,
        lower=shown.lower,
        upper=shown.upper,
        tolerance=tolerance,
    )


def decide(change: Interval, limit: float, *, is_lower_better: bool) -> VerdictOutcome:
    """Regressed or improved where the whole interval lies beyond the limit, equivalent where it lies within ±limit."""
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


def _points(metric: Metric, old: Mapping[int, float], new: Mapping[int, float]) -> Interval:
    """Percentage points. Runs of one seed share weights and order, so that their difference leaves the luck out."""
    if old.keys() == new.keys():
        differences = np.array([100 * (new[seed] - old[seed]) for seed in new])
        # The difference of two runs spreads √2 times as far as one.
        return paired(differences, run_sd=sqrt(2) * metric.run_sd, is_robust=metric.is_robust, alpha=ALPHA)
    return unpaired(
        100 * _array(old),
        100 * _array(new),
        run_sd=metric.run_sd,
        session_sd=metric.session_sd,
        is_robust=metric.is_robust,
        alpha=ALPHA,
    )


def _centre(metric: Metric, values: Values) -> float:
    """What is shown as the figure of one side: of ratio metrics, so that new / old is the ratio that is shown."""
    if metric.kind == "points":
        return float(values.mean())
    return exp(centre(np.log(values), run_sd=metric.run_sd, is_robust=metric.is_robust))


def _array(values: Mapping[int, float]) -> Values:
    return np.array(list(values.values()), dtype=np.float64)
