"""Accuracy by seed, divergences, and the time to an accuracy that some runs never reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isclose, nan, sqrt
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from pytest_dlbench.judging.intervals import Interval, Values, independent_runs, of_mean, unpaired
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.scales import badness, shown
from pytest_dlbench.judging.time_to_accuracy import TimeToAccuracy
from pytest_dlbench.records import Verdict, VerdictOutcome

if TYPE_CHECKING:
    from scipy import stats

ALPHA = 0.025


def points_lost(
    metric: Metric, old: Sequence[Sequence[float]], new: Sequence[float], *, alpha: float = ALPHA
) -> Interval:
    """How many percentage points the new seeds lose against the old ones; seeds and their number may differ.

    ``old`` has the values of each seed. The machine's load does not change an accuracy, so stored figures are as good
    as fresh ones. The test set's own error is the same on both sides and not included.
    """
    groups = [[badness(metric, value) for value in seed] for seed in old]
    return unpaired(
        np.concatenate(groups),
        np.array([badness(metric, value) for value in new]),
        run_sd=metric.run_sd,
        session_sd=0.0,
        is_robust=metric.is_robust,
        alpha=alpha,
        old_runs=independent_runs(groups),
    )


def verdict(metric: Metric, old: Mapping[int, Sequence[float]], new: Mapping[int, float], tolerance: float) -> Verdict:
    """Whether the new seeds are not worse; both sides are figures by seed, of which the old ones may have several.

    Equal seeds are not pairs, because another version takes another path from the same seed. If every figure is
    repeated to the last stored digit, the path is the same: nothing is lost, and the spread of seeds is irrelevant.
    """
    # Baselines store seven digits.
    is_repeated = all(isclose(fmean(old.get(seed, (nan,))), value, rel_tol=1e-6) for seed, value in new.items())
    after = list(new.values())
    before = after if is_repeated else [value for values in old.values() for value in values]
    lost = repeated(metric, len(after)) if is_repeated else points_lost(metric, list(old.values()), after)
    change, lower, upper = shown(metric, lost.estimate, lost.lower, lost.upper)
    return Verdict(
        metric=metric.name,
        outcome=non_inferiority(lost, tolerance),
        old=fmean(before),
        new=fmean(after),
        change=change,
        lower=lower,
        upper=upper,
        tolerance=tolerance,
    )


def repeated(metric: Metric, runs: int) -> Interval:
    """The loss of this many runs whose figures are repeated to the last digit."""
    return of_mean(np.zeros(runs), run_sd=sqrt(2) * metric.run_sd, is_robust=False, alpha=ALPHA)


def non_inferiority(lost: Interval, limit: float) -> VerdictOutcome:
    """Whether no more than the limit is lost: ``equivalent`` means "not worse", and may be better."""
    if lost.lower > limit:
        return VerdictOutcome.REGRESSED
    if lost.upper < -limit:
        return VerdictOutcome.IMPROVED
    return VerdictOutcome.EQUIVALENT if lost.upper < limit else VerdictOutcome.INCONCLUSIVE


# On each side: enough to distinguish five diverging runs from none, and three with a p value of 3 %.
COUNTED_RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergences:
    """The number of runs, and of those that ended in NaN or inf."""

    runs: int
    diverged: int


def more_divergences(old: Divergences, new: Divergences) -> float:
    """The p value of the increase if both sides diverge equally often (Barnard's exact test, one-sided)."""
    from scipy import stats  # noqa: PLC0415 - as in intervals

    if old.diverged + new.diverged == 0:
        return 1.0
    table = [[old.diverged, new.diverged], [old.runs - old.diverged, new.runs - new.diverged]]
    return float(stats.barnard_exact(table, alternative="less").pvalue)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesToAccuracy:
    """Times of two sides. ``p_value`` is the log-rank test's: how often equal sides differ by this much.

    ``old`` and ``new`` are restricted mean times in seconds until a run reached the accuracy, within the first
    ``horizon`` seconds; ``longer`` is their difference new - old.
    """

    horizon: float
    old: float
    new: float
    longer: Interval
    p_value: float


def compare_times(
    old: Sequence[TimeToAccuracy], new: Sequence[TimeToAccuracy], alpha: float = ALPHA
) -> TimesToAccuracy:
    """Compare times to an accuracy; runs that ended before they reached it are censored, not missing.

    The horizon is the time until which every run was observed. Raises ValueError for fewer than two runs on a side.
    """
    if min(len(old), len(new)) < 2:
        raise ValueError(f"expected two runs or more on each side, got {len(old)} and {len(new)}")
    horizon = _horizon([*old, *new])
    before, after = (np.array([min(run.seconds, horizon) for run in side]) for side in (old, new))
    return TimesToAccuracy(
        horizon=horizon,
        old=float(before.mean()),
        new=float(after.mean()),
        longer=_longer(before, after, alpha),
        p_value=_log_rank(old, new),
    )


def _horizon(runs: Sequence[TimeToAccuracy]) -> float:
    return min((run.seconds for run in runs if run.is_censored), default=max(run.seconds for run in runs))


def _longer(old: Values, new: Values, alpha: float) -> Interval:
    """Welch's interval. If neither side has any spread, it is unbounded."""
    from scipy import stats  # noqa: PLC0415 - as in intervals

    estimate = float(new.mean() - old.mean())
    if max(np.ptp(old), np.ptp(new)) <= 1e-9 * max(old.max(), new.max()):
        return Interval(estimate=estimate, lower=-inf, upper=inf)
    found = stats.ttest_ind(new, old, equal_var=False).confidence_interval(1 - 2 * alpha)
    return Interval(estimate=estimate, lower=float(found.low), upper=float(found.high))


def _log_rank(old: Sequence[TimeToAccuracy], new: Sequence[TimeToAccuracy]) -> float:
    """The log-rank p value; 1 if no run reached the accuracy, because then nothing can differ."""
    from scipy import stats  # noqa: PLC0415 - as in intervals

    if all(run.is_censored for run in (*old, *new)):
        return 1.0
    return float(stats.logrank(_censored(old), _censored(new)).pvalue)


def _censored(side: Sequence[TimeToAccuracy]) -> "stats.CensoredData":
    from scipy import stats  # noqa: PLC0415 - as in intervals

    reached = [run.seconds for run in side if not run.is_censored]
    return stats.CensoredData(uncensored=reached, right=[run.seconds for run in side if run.is_censored])
