"""Compares runs with runs: the interval of the change with the tolerance. "Not significant" is never "fine"."""

from collections.abc import Mapping, Sequence
from math import exp, isfinite, log

import numpy as np

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import accuracy
from pytest_dlbench.judging.intervals import Interval, Values, centre, independent_runs, unpaired
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.scales import tolerance_at
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


def of_runs(
    metric: Metric, old: Mapping[int, Sequence[float]], new: Mapping[int, float], tolerance: float, cases: int = 1
) -> Verdict:
    """Compare runs with runs, by seed; of the old ones, a seed may have several.

    ``cases`` is how many are compared in the session: ``regressed`` must be no false alarm of any of them.
    """
    if metric.kind == "points":
        return accuracy.verdict(metric, old, new, tolerance)
    before = np.concatenate([np.asarray(values, dtype=np.float64) for values in old.values()])
    after = np.array(list(new.values()), dtype=np.float64)
    worth = independent_runs([[log(value) for value in values] for values in old.values()])
    change, sure = (_log_ratio(metric, before, after, worth, alpha) for alpha in (ALPHA, of_family(cases)))
    shown = Interval(estimate=exp(change.estimate), lower=exp(change.lower), upper=exp(change.upper))
    is_lower_better = metric.better == "lower"
    tolerance = tolerance_at(metric, tolerance, _centre(metric, before))
    outcome = decide(change, log(1 + tolerance), is_lower_better=is_lower_better)
    return Verdict(
        metric=metric.name,
        outcome=if_sure(outcome, sure if is_lower_better else _mirrored(sure)),
        old=_centre(metric, before),
        new=_centre(metric, after),
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


def of_family(cases: int, alpha: float = ALPHA) -> float:
    """The level at which each of this many cases is tested for any change, so that all together err with half of alpha.

    A single case errs with alpha.
    """
    return alpha / (2 * cases - 1)


def if_sure(outcome: VerdictOutcome, worse: Interval) -> VerdictOutcome:
    """The outcome; ``suspect`` if a regression could be no change at all in one of the session's cases.

    ``worse`` is the interval at the level of all cases together, above 0 if the candidate is worse.
    """
    is_unsure = outcome is VerdictOutcome.REGRESSED and not worse.lower > 0
    return VerdictOutcome.SUSPECT if is_unsure else outcome


def _mirrored(change: Interval) -> Interval:
    return Interval(estimate=-change.estimate, lower=-change.upper, upper=-change.lower)


def _log_ratio(metric: Metric, old: Values, new: Values, old_runs: float, alpha: float) -> Interval:
    return unpaired(
        np.log(old),
        np.log(new),
        run_sd=metric.run_sd,
        session_sd=metric.session_sd,
        is_robust=metric.is_robust,
        alpha=alpha,
        old_runs=old_runs,
    )


def _centre(metric: Metric, values: Values) -> float:
    """The figure shown for one side of a ratio metric, so that new / old is the ratio shown."""
    return exp(centre(np.log(values), run_sd=metric.run_sd, is_robust=metric.is_robust))
