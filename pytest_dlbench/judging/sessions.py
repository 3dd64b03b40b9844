"""A session against those before it. One number a session: two sessions differ however many runs each has.

All figures are on the scale of ``scales``: a difference above 0 is worse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isfinite, nan, sqrt

import numpy as np

from pytest_dlbench.judging.comparable import CUSUM_REFERENCE, KNOWN_SESSIONS
from pytest_dlbench.judging.intervals import MAD_TO_SD, PRIOR_FREEDOM, Interval, Values, around
from pytest_dlbench.judging.verdicts import ALPHA, decide
from pytest_dlbench.records import VerdictOutcome

# Clipped CUSUM: by how many deviations a session may be off before it counts; how much one may count at most, so that
# a single bad night is no alarm; and where the sum is one.
CUSUM_ALLOWED = 1.0
CUSUM_CLIP = 3.0
CUSUM_ALARM = 5.0
# Added to the deviation of every reference: a lucky one would make each later session an outlier.
CUSUM_FLOOR = 0.003


# A probe of the machine has its own noise, on a shared machine far more than what it is to take out. It is used where
# stored sessions lie so much closer together with it: of one that says nothing, by luck in 5 % of five sessions.
CANARY_NARROWS = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFigure:
    """The median over a session's runs of one metric, and that of the canary probe of the same session."""

    value: float
    canary: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpread:
    """The standard deviation of sessions: what is assumed of it, as four degrees of freedom, and the least believed."""

    assumed: float
    smallest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A session against ``sessions`` stored ones. ``is_corrected``: canaries took out what the machine itself did."""

    outcome: VerdictOutcome
    change: Interval
    sessions: int
    is_corrected: bool


def against_sessions(
    stored: Sequence[SessionFigure],
    new: SessionFigure,
    *,
    spread: SessionSpread,
    tolerance: float,
    alpha: float = ALPHA,
) -> Comparison:
    """The change since the mean of the stored sessions, in a prediction interval for one more session of the same code.

    From five sessions on the interval knows only what they say, less their canaries if these bring them together. With
    fewer the assumed spread is part of it, and what looks worse is ``suspect`` and no more: pairs would tell. Raises
    ValueError without a stored session.
    """
    if not stored:
        raise ValueError("expected one stored session or more")
    is_corrected = _corrected(stored, new)
    (now,) = _values([new], is_corrected=is_corrected)
    expected = _prediction(stored, spread, is_corrected=is_corrected)
    change = around(now - expected.centre, expected.error, expected.freedom, alpha)
    is_known = len(stored) >= KNOWN_SESSIONS
    outcome = _outcome(change, tolerance, is_known=is_known)
    return Comparison(outcome=outcome, change=change, sessions=len(stored), is_corrected=is_corrected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One more session of the same code: where it is expected, how far it may lie from there (a standard error)."""

    centre: float
    error: float
    freedom: float


def prediction(stored: Sequence[SessionFigure], spread: SessionSpread) -> Prediction:
    """What stored sessions foretell of the next one, which has a canary if these have."""
    return _prediction(stored, spread, is_corrected=_corrected(stored, stored[-1]))


def _prediction(stored: Sequence[SessionFigure], spread: SessionSpread, *, is_corrected: bool) -> Prediction:
    values = np.array(_values(stored, is_corrected=is_corrected))
    squares, freedom = float(np.sum((values - values.mean()) ** 2)), len(values) - 1.0
    error, freedom = _moderated(squares, freedom, len(values), spread)
    return Prediction(centre=float(values.mean()), error=error * sqrt(1 + 1 / len(values)), freedom=freedom)


def against_anchor(
    anchor: SessionFigure,
    stored: Sequence[SessionFigure],
    new: SessionFigure,
    *,
    spread: SessionSpread,
    tolerance: float,
    alpha: float = ALPHA,
) -> Comparison:
    """The change since the one session that every later one is held against, so that accepted slips add up.

    How far sessions lie apart is read off neighbours among the stored ones, which slips between them move least. One
    session says ``suspect`` at most.
    """
    is_corrected = anchor.canary is not None and _corrected(stored, new)
    first, *before, now = _values([anchor, *stored, new], is_corrected=is_corrected)
    steps = np.diff(before)
    # Of normal values, half the mean square of n - 1 successive differences has 2(n-1)²/(3n-4) degrees of freedom.
    freedom = 2 * len(steps) ** 2 / (3 * len(steps) - 1) if len(steps) else 0.0
    squares = freedom * float(np.mean(steps**2)) / 2 if len(steps) else 0.0
    error, freedom = _moderated(squares, freedom, len(before), spread)
    change = around(now - first, sqrt(2) * error, freedom, alpha)
    outcome = _outcome(change, tolerance, is_known=False)
    return Comparison(outcome=outcome, change=change, sessions=1, is_corrected=is_corrected)


def _corrected(stored: Sequence[SessionFigure], new: SessionFigure) -> bool:
    """Whether canaries take out what the machine did: all sessions have one, and the stored ones are closer with it."""
    if len(stored) < KNOWN_SESSIONS or any(figure.canary is None for figure in [*stored, new]):
        return False
    with_it, without = _values(stored, is_corrected=True), _values(stored, is_corrected=False)
    return float(np.std(with_it)) < CANARY_NARROWS * float(np.std(without))


def _values(figures: Sequence[SessionFigure], *, is_corrected: bool) -> list[float]:
    """The figures, less their canaries where that is asked. What is not finite is NaN, and decides nothing."""
    values = [figure.value - (figure.canary or 0.0) if is_corrected else figure.value for figure in figures]
    return [value if isfinite(value) else nan for value in values]


def _moderated(squares: float, freedom: float, sessions: int, spread: SessionSpread) -> tuple[float, float]:
    """The standard deviation of sessions and its degrees of freedom."""
    if sessions < KNOWN_SESSIONS:
        squares += PRIOR_FREEDOM * spread.assumed**2
        freedom += PRIOR_FREEDOM
    return float(np.maximum(spread.smallest, np.sqrt(squares / freedom))), freedom


def _outcome(change: Interval, tolerance: float, *, is_known: bool) -> VerdictOutcome:
    outcome = decide(change, tolerance, is_lower_better=True)
    return VerdictOutcome.SUSPECT if outcome is VerdictOutcome.REGRESSED and not is_known else outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The sums after each session behind the reference. ``alarms`` are the places of those that are an alarm."""

    sums: tuple[float, ...]
    alarms: tuple[int, ...]

    @property
    def changes(self) -> tuple[int, ...]:
        """Where each stretch of sums that came to an alarm left 0: the change that it tells of, at the latest."""
        found: list[int] = []
        start = 0
        for place, sum_ in enumerate(self.sums):
            start = place + 1 if sum_ == 0 else start
            if sum_ > CUSUM_ALARM and CUSUM_REFERENCE + start not in found:
                found.append(CUSUM_REFERENCE + start)
        return tuple(found)

    @property
    def is_suspect(self) -> bool:
        """Whether the latest session is an alarm."""
        return bool(self.sums) and self.sums[-1] > CUSUM_ALARM

    @property
    def latest(self) -> int:
        """How many sessions there are since the sum was last 0: those that have drifted."""
        return next((place for place, sum_ in enumerate(reversed(self.sums)) if not sum_), len(self.sums))


def drift(series: Sequence[float], floor: float = CUSUM_FLOOR) -> Drift:
    """Clipped CUSUM over a case's sessions, oldest first, of which the first 30 are taken as clean.

    ``floor`` is added to their deviation: the least that sessions of the metric are believed to differ by.
    A later session that is not finite counts as the worst one. With 30 sessions or fewer there is nothing to say, and
    no sum. Raises ValueError for a reference that is not finite.
    """
    values = np.array(series, dtype=np.float64)
    reference, later = values[:CUSUM_REFERENCE], values[CUSUM_REFERENCE:]
    if not np.isfinite(reference).all():
        raise ValueError(f"the first {CUSUM_REFERENCE} sessions are the reference and must be finite, got {reference}")
    if not len(later):
        return Drift(sums=(), alarms=())
    scores = _scores(reference, later, floor)
    sums = tuple(accumulate(scores, lambda sum_, score: max(0.0, sum_ + score - CUSUM_ALLOWED), initial=0.0))[1:]
    return Drift(
        sums=sums, alarms=tuple(CUSUM_REFERENCE + place for place, sum_ in enumerate(sums) if sum_ > CUSUM_ALARM)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """Where a series went to another level: the first session of it, and the one that told."""

    began: int
    told: int
    change: float
    """The median of the sessions from the one to the other, less that of the reference."""


def change_points(series: Sequence[float], floor: float = CUSUM_FLOOR) -> tuple[ChangePoint, ...]:
    """Every change of a case's sessions, for the worse or the better, by the clipped CUSUM.

    Behind each the next 30 sessions are the new reference. What is not finite has to be left out before.
    """
    found: list[ChangePoint] = []
    start = 0
    while point := min(_first_alarms(series, start, floor), key=lambda point: point.told, default=None):
        found.append(point)
        start = point.began
    return tuple(found)


def _first_alarms(series: Sequence[float], start: int, floor: float) -> Iterator[ChangePoint]:
    for sign in (1, -1):
        sums = drift([sign * value for value in series[start:]], floor)
        if not sums.alarms:
            continue
        told = sums.alarms[0] - CUSUM_REFERENCE
        began = next((place + 1 for place in range(told, -1, -1) if not sums.sums[place]), 0)
        first, last = (start + CUSUM_REFERENCE + place for place in (began, told))
        before, after = series[start : start + CUSUM_REFERENCE], series[first : last + 1]
        yield ChangePoint(began=first, told=last, change=float(np.median(after) - np.median(before)))


def _scores(reference: Values, later: Values, floor: float) -> list[float]:
    centre = np.median(reference)
    deviation = MAD_TO_SD * np.median(np.abs(reference - centre)) + floor
    scores = np.clip((later - centre) / deviation, -CUSUM_CLIP, CUSUM_CLIP)
    return [float(score) for score in np.where(np.isfinite(later), scores, CUSUM_CLIP)]
