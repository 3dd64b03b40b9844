"""Intervals for the difference of two groups of runs. One number a run: steps are never pooled.

A moderated t interval: the runs' variance is combined with an assumed one of four degrees of freedom, so that three
runs that happen to agree do not pass for certainty (G. Smyth 2004, "Linear models and empirical Bayes methods"). Of two
groups the runs alone may say that the interval is wider: then they have it. Runs that lie far further apart than is
assumed would else be taken for quieter than they are, and a difference between two times three of them for a finding.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

PRIOR_FREEDOM = 4
CLIP_DEVIATIONS = 2.5
MAD_TO_SD = 1.4826

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate, and the interval that leaves out alpha on either side."""

    estimate: float
    lower: float
    upper: float


def centre(values: Values, *, run_sd: float, is_robust: bool) -> float:
    """The mean that the intervals speak of."""
    return float((_pull_in(values, run_sd) if is_robust else values).mean())


def unpaired(old: Values, new: Values, *, run_sd: float, session_sd: float, is_robust: bool, alpha: float) -> Interval:
    """mean(new) - mean(old), where each side is one session.

    ``session_sd`` is the spread between sessions: two of them differ by √2 of it however many runs they have.
    """
    if is_robust:
        old, new = _pull_in(old, run_sd), _pull_in(new, run_sd)
    squares = float(_squares(old) + _squares(new))
    known = _of_difference(squares, len(old), len(new), run_sd=run_sd, session_sd=session_sd, alpha=alpha)
    return around(float(new.mean() - old.mean()), known.error, known.freedom, alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """Of an interval whose new side is yet to be run.

    ``distance`` is the standard deviation of how far its estimate will lie from the truth.
    """

    half_width: float
    distance: float


def foretold(
    old: Values, runs: int, *, run_sd: float, session_sd: float, smallest_sd: float, is_robust: bool, alpha: float
) -> Foretold:
    """What ``unpaired`` will say of so many runs of the same code, if they lie apart as the old ones do.

    Of those ``smallest_sd`` is believed at least; what ``unpaired`` assumes makes its interval wider, and no run worse.
    """
    if is_robust:
        old = _pull_in(old, run_sd)
    squares = float(_squares(old))
    variance = max(squares / max(1, len(old) - 1), smallest_sd**2)
    squares += (runs - 1) * variance
    known = _of_difference(squares, len(old), runs, run_sd=run_sd, session_sd=session_sd, alpha=alpha)
    return Foretold(half_width=known.half_width(alpha), distance=sqrt(variance * (1 / len(old) + 1 / runs)))


def paired(differences: Values, *, run_sd: float, is_robust: bool, alpha: float) -> Interval:
    """The mean of differences between runs that belong together, such as those of one seed."""
    found = moderated(differences, run_sd, is_robust=is_robust)
    return around(float(found.mean), float(found.error), found.freedom, alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moderated:
    """Means along the last axis, their standard errors, and the degrees of freedom that these have."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The standard error of an estimate, and its degrees of freedom."""

    error: float
    freedom: float

    def half_width(self, alpha: float) -> float:
        """Of the t interval that leaves out alpha on either side."""
        # Late, because it is slow to load, and every pytest session with this plugin installed would pay for it.
        from scipy import special  # noqa: PLC0415

        return float(special.stdtrit(self.freedom, 1 - alpha) * self.error)


def around(estimate: float, error: float, freedom: float, alpha: float) -> Interval:
    """A t interval that leaves out alpha on either side."""
    width = _Known(error=error, freedom=freedom).half_width(alpha)
    return Interval(estimate=float(estimate), lower=float(estimate) - width, upper=float(estimate) + width)


def _of_difference(squares: float, old: int, new: int, *, run_sd: float, session_sd: float, alpha: float) -> _Known:
    """Of a difference of two means of so many runs: the wider of what is found and assumed, and of what is found."""
    found = old + new - 2
    both = PRIOR_FREEDOM + found
    runs = [(both, (squares + PRIOR_FREEDOM * run_sd**2) / both)]
    if found:
        runs.append((found, squares / found))
    share = 1 / old + 1 / new
    known = [_with_sessions(variance * share, freedom, session_sd=session_sd) for freedom, variance in runs]
    return max(known, key=lambda one: one.half_width(alpha))


def _with_sessions(of_runs: float, freedom: int, *, session_sd: float) -> _Known:
    total = of_runs + 2 * session_sd**2
    # Welch and Satterthwaite: the assumed part counts as little knowledge, too.
    share = of_runs / total if total else 1.0
    return _Known(error=sqrt(total), freedom=1 / (share**2 / freedom + (1 - share) ** 2 / PRIOR_FREEDOM))


def _squares(values: Values) -> Values:
    squares: Values = np.sum((values - values.mean(axis=-1, keepdims=True)) ** 2, axis=-1)
    return squares


def _pull_in(values: Values, run_sd: Values | float) -> Values:
    """Values no further from their median than 2.5 moderated deviations, along the last axis."""
    median = np.median(values, axis=-1, keepdims=True)
    spread = MAD_TO_SD * np.median(np.abs(values - median), axis=-1, keepdims=True)
    assumed = np.asarray(run_sd, dtype=np.float64)[..., np.newaxis]
    count = values.shape[-1]
    scale = np.sqrt((PRIOR_FREEDOM * assumed**2 + count * spread**2) / (PRIOR_FREEDOM + count))
    return np.clip(values, median - CLIP_DEVIATIONS * scale, median + CLIP_DEVIATIONS * scale)
