"""Intervals for the difference of two groups of runs. One number per run: steps are never pooled.

A moderated t interval: the runs' variance is combined with an assumed one of four degrees of freedom, so that three
runs that happen to agree do not look certain (G. Smyth 2004, "Linear models and empirical Bayes methods"). If the
interval from the runs alone is wider, that one is used: otherwise runs with a far larger spread than assumed would
seem quieter than they are, and a difference between three runs on each side would look significant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

PRIOR_FREEDOM = 4
CLIP_DEVIATIONS = 2.5
# Of normal values, one of two is within 1/1.4826 standard deviations of the median, three of four within 1.1503.
MAD_TO_SD = 1.4826
QUARTILE_TO_SD = 1 / 1.1503

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate, and its interval, with alpha in either tail."""

    estimate: float
    lower: float
    upper: float


def centre(values: Values, *, run_sd: float, is_robust: bool) -> float:
    """The mean that the intervals are about."""
    return float((_pull_in(values, run_sd) if is_robust else values).mean())


def independent_runs(groups: Sequence[Sequence[float]]) -> float:
    """How many independent runs the runs of these groups are worth, each group having repeated one seed.

    All of them if seeds differ no more than repetitions do, and one for each seed if repetitions agree.
    """
    values = np.concatenate([np.asarray(group, dtype=np.float64) for group in groups])
    if len(groups) == 1 or len(groups) == len(values):
        return float(len(values))
    between = sum(len(group) * (np.mean(group) - values.mean()) ** 2 for group in groups) / (len(groups) - 1)
    total = len(values) * values.var(ddof=1)
    if not between > 0:
        return float(len(values) if total > 0 else len(groups))
    return float(np.clip(total / between, len(groups), len(values)))


def unpaired(
    old: Values,
    new: Values,
    *,
    run_sd: float,
    session_sd: float,
    is_robust: bool,
    alpha: float,
    old_runs: float | None = None,
) -> Interval:
    """mean(new) - mean(old), where each side is one session.

    ``session_sd`` is the spread between sessions: two of them differ by √2 of it, regardless of the number of runs.
    ``old_runs`` is how many independent runs the old ones are worth, by default as many as they are.
    """
    if is_robust:
        old, new = _pull_in(old, run_sd), _pull_in(new, run_sd)
    counts = (old_runs or len(old), len(new))
    squares = float(_squares_of(old, counts[0]) + _squares(new))
    width = _half_width(squares, counts, run_sd=run_sd, session_sd=session_sd, alpha=alpha)
    return _around(float(new.mean() - old.mean()), width)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedInterval:
    """An interval whose candidate has not run yet.

    ``distance`` is the standard deviation of its estimate around the true value.
    """

    half_width: float
    distance: float


def expected_interval(
    old: Values,
    runs: int,
    *,
    run_sd: float,
    session_sd: float,
    smallest_sd: float,
    is_robust: bool,
    alpha: float,
    old_runs: float | None = None,
) -> ExpectedInterval:
    """The interval that ``unpaired`` should give for this many runs of the same code, with the spread of the old ones.

    Their spread is at least ``smallest_sd``; what ``unpaired`` assumes only widens the interval.
    """
    if is_robust:
        old = _pull_in(old, run_sd)
    count = old_runs or len(old)
    variance = max(float(_squares(old)) / max(1, len(old) - 1), smallest_sd**2)
    squares = _squares_of(old, count) + (runs - 1) * variance
    width = _half_width(squares, (count, runs), run_sd=run_sd, session_sd=session_sd, alpha=alpha)
    return ExpectedInterval(half_width=width, distance=sqrt(variance * (1 / count + 1 / runs)))


def of_mean(values: Values, *, run_sd: float, session_sd: float = 0.0, is_robust: bool, alpha: float) -> Interval:
    """The mean of one group, such as differences between runs with the same seed."""
    if is_robust:
        values = _pull_in(values, run_sd)
    squares = float(_squares(values))
    width = _half_width(squares, (len(values),), run_sd=run_sd, session_sd=session_sd, alpha=alpha)
    return _around(float(values.mean()), width)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moderated:
    """Means along the last axis, their standard errors, and the degrees of freedom of those errors."""

    mean: Values
    error: Values
    freedom: int


def moderated(differences: Values, assumed_sd: Values | float, *, is_robust: bool) -> Moderated:
    """Means of differences along the last axis; their ``assumed_sd`` counts as four degrees of freedom."""
    assumed = np.asarray(assumed_sd, dtype=np.float64)
    if is_robust:
        differences = _pull_in(differences, assumed)
    count = differences.shape[-1]
    freedom = PRIOR_FREEDOM + count - 1
    variance = (_squares(differences) + PRIOR_FREEDOM * assumed**2) / freedom
    return Moderated(mean=differences.mean(axis=-1), error=np.sqrt(variance / count), freedom=freedom)


def around(estimate: float, error: float, freedom: float, alpha: float) -> Interval:
    """A t interval with alpha in either tail."""
    return _around(estimate, _quantile(freedom, alpha) * error)


def _around(estimate: float, width: float) -> Interval:
    return Interval(estimate=float(estimate), lower=float(estimate) - width, upper=float(estimate) + width)


def _half_width(squares: float, sides: Sequence[float], *, run_sd: float, session_sd: float, alpha: float) -> float:
    """Half the width of the interval of one side's mean, or of two sides' difference; assumptions never narrow it."""
    found = sum(sides) - len(sides)
    both = PRIOR_FREEDOM + found
    variances = [(both, (squares + PRIOR_FREEDOM * run_sd**2) / both)]
    if found:
        variances.append((found, squares / found))
    share, of_sessions = sum(1 / runs for runs in sides), len(sides) * session_sd**2
    return max(_with_sessions(share * variance, freedom, of_sessions, alpha) for freedom, variance in variances)


def _with_sessions(of_runs: float, freedom: float, of_sessions: float, alpha: float) -> float:
    total = of_runs + of_sessions
    # Welch and Satterthwaite: the assumed part also has few degrees of freedom.
    share = of_runs / total if total else 1.0
    return _quantile(1 / (share**2 / freedom + (1 - share) ** 2 / PRIOR_FREEDOM), alpha) * sqrt(total)


def _quantile(freedom: float, alpha: float) -> float:
    # Late: SciPy is slow to load, and every pytest session with this plugin installed would pay for it.
    from scipy import special  # noqa: PLC0415

    return float(special.stdtrit(freedom, 1 - alpha))


def _squares_of(values: Values, runs: float) -> float:
    """The sum of squares that this many independent runs with the spread of the values have."""
    return float(_squares(values)) * (runs - 1) / max(1, len(values) - 1)


def _squares(values: Values) -> Values:
    squares: Values = np.sum((values - values.mean(axis=-1, keepdims=True)) ** 2, axis=-1)
    return squares


def _pull_in(values: Values, run_sd: Values | float) -> Values:
    """Values clipped to 2.5 moderated deviations from their median, along the last axis."""
    median = np.median(values, axis=-1, keepdims=True)
    spread = MAD_TO_SD * np.median(np.abs(values - median), axis=-1, keepdims=True)
    assumed = np.asarray(run_sd, dtype=np.float64)[..., np.newaxis]
    count = values.shape[-1]
    scale = np.sqrt((PRIOR_FREEDOM * assumed**2 + count * spread**2) / (PRIOR_FREEDOM + count))
    return np.clip(values, median - CLIP_DEVIATIONS * scale, median + CLIP_DEVIATIONS * scale)
