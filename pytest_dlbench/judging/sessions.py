"""A session compared with earlier ones. One number per session: sessions differ however many runs each has.

All figures are on the scale of ``scales``: a difference above 0 is worse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isfinite, nan, sqrt

import numpy as np

from pytest_dlbench.judging.comparable import CUSUM_REFERENCE, KNOWN_SESSIONS
from pytest_dlbench.judging.intervals import MAD_TO_SD, PRIOR_FREEDOM, Interval, Values, around
from pytest_dlbench.judging.verdicts import ALPHA, decide, if_sure, of_family
from pytest_dlbench.records import VerdictOutcome

# Clipped CUSUM: by how many deviations a session may differ before it counts; how much one counts at most, so that
# a single bad night is no alarm; and the sum that is one.
CUSUM_ALLOWED = 1.0
CUSUM_CLIP = 3.0
CUSUM_ALARM = 5.0
# Added to the deviation of every reference: one that is small by chance would make each later session an outlier.
CUSUM_FLOOR = 0.003


# A measurement of machine speed has its own noise, on a shared machine far more than what it should remove. It is used
# only if it narrows the spread of stored sessions by this factor: an uninformative one does in 5 % of five sessions.
CONTROL_NARROWS = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFigure:
    """The median of one metric over a session's runs, and that of the session's machine-speed control."""

    value: float
    control: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpread:
    """The standard deviation of sessions: the assumed one, with four degrees of freedom, and the minimum."""

    assumed: float
    smallest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A session compared with ``sessions`` stored ones, whose standard deviation is ``spread``.

    ``is_corrected``: machine speed was factored out.
    """

    outcome: VerdictOutcome
    change: Interval
    sessions: int
    spread: float
    is_corrected: bool


def against_sessions(
    stored: Sequence[SessionFigure],
    new: SessionFigure,
    *,
    spread: SessionSpread,
    tolerance: float,
    alpha: float = ALPHA,
    cases: int = 1,
) -> Comparison:
    """The change since the mean of the stored sessions, in a prediction interval for one more session of the same code.

    From five sessions on, the interval is based on them alone, minus machine speed if that narrows their spread. With
    fewer, the assumed spread is included, and the worst outcome is ``suspect``: pairs would decide. It also is
    ``suspect`` where one of the session's ``cases`` would often be as much worse by chance. Raises ValueError without a
    stored session.
    """
    if not stored:
        raise ValueError("expected one stored session or more")
    is_corrected = _corrected(stored, new)
    (now,) = _values([new], is_corrected=is_corrected)
    expected = _prediction(stored, spread, is_corrected=is_corrected)
    change = around(now - expected.centre, expected.error, expected.freedom, alpha)
    is_known = len(stored) >= KNOWN_SESSIONS
    sure = around(now - expected.centre, expected.error, expected.freedom, of_family(cases, alpha))
    outcome = if_sure(_outcome(change, tolerance, is_known=is_known), sure)
    return Comparison(
        outcome=outcome,
        change=change,
        sessions=len(stored),
        spread=expected.error / sqrt(1 + 1 / len(stored)),
        is_corrected=is_corrected,
    )


def sessions_needed(found: Comparison, tolerance: float, most: int, alpha: float = ALPHA) -> int | None:
    """How many stored sessions would decide it if they went on to differ like this; None if ``most`` would not."""
    from scipy import special  # noqa: PLC0415 - as in intervals

    gap = abs(abs(found.change.estimate) - tolerance)
    counts = range(max(found.sessions + 1, KNOWN_SESSIONS), most + 1)
    widths = {count: float(special.stdtrit(count - 1, 1 - alpha)) * sqrt(1 + 1 / count) for count in counts}
    return next((count for count, width in widths.items() if width * found.spread < gap), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One more session of the same code: its expected value, and the standard error of that."""

    centre: float
    error: float
    freedom: float


def prediction(stored: Sequence[SessionFigure], spread: SessionSpread) -> Prediction:
    """The next session as predicted from stored ones; it has a machine-speed control if these have one."""
    return _prediction(stored, spread, is_corrected=_corrected(stored, stored[-1]))


def _prediction(stored: Sequence[SessionFigure], spread: SessionSpread, *, is_corrected: bool) -> Prediction:
    values = np.array(_values(stored, is_corrected=is_corrected))
    squares, freedom = float(np.sum((values - values.mean()) ** 2)), len(values) - 1.0
    error, freedom = _moderated(squares, freedom, len(values), spread)
    return Prediction(centre=float(values.mean()), error=error * sqrt(1 + 1 / len(values)), freedom=freedom)


def against_reference(
    anchor: SessionFigure,
    stored: Sequence[SessionFigure],
    new: SessionFigure,
    *,
    spread: SessionSpread,
    tolerance: float,
    alpha: float = ALPHA,
) -> Comparison:
    """The change since the reference session, with which every later one is compared, so that accepted changes add up.

    The spread of sessions is estimated from successive stored ones, which small changes affect least. Against one
    session, ``suspect`` is the worst outcome.
    """
    is_corrected = anchor.control is not None and _corrected(stored, new)
    first, *before, now = _values([anchor, *stored, new], is_corrected=is_corrected)
    steps = np.diff(before)
    # Of normal values, half the mean square of n - 1 successive differences has 2(n-1)²/(3n-4) degrees of freedom.
    freedom = 2 * len(steps) ** 2 / (3 * len(steps) - 1) if len(steps) else 0.0
    squares = freedom * float(np.mean(steps**2)) / 2 if len(steps) else 0.0
    error, freedom = _moderated(squares, freedom, len(before), spread)
    change = around(now - first, sqrt(2) * error, freedom, alpha)
    outcome = _outcome(change, tolerance, is_known=False)
    return Comparison(outcome=outcome, change=change, sessions=1, spread=error, is_corrected=is_corrected)


def _corrected(stored: Sequence[SessionFigure], new: SessionFigure) -> bool:
    """Whether to factor out machine speed: all sessions have it, and it narrows the spread of the stored ones."""
    if len(stored) < KNOWN_SESSIONS or any(figure.control is None for figure in [*stored, new]):
        return False
    with_it, without = _values(stored, is_corrected=True), _values(stored, is_corrected=False)
    return float(np.std(with_it)) < CONTROL_NARROWS * float(np.std(without))


def _values(figures: Sequence[SessionFigure], *, is_corrected: bool) -> list[float]:
    """The figures, minus machine speed if ``is_corrected``. Values that are not finite are NaN, and decide nothing."""
    values = [figure.value - (figure.control or 0.0) if is_corrected else figure.value for figure in figures]
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
    """The CUSUM after each session that follows the reference. ``alarms`` are the indices of sessions with an alarm."""

    sums: tuple[float, ...]
    alarms: tuple[int, ...]

    @property
    def changes(self) -> tuple[int, ...]:
        """Where each run of sums that led to an alarm left 0: the change began there at the latest."""
        found: list[int] = []
        start = 0
        for place, sum_ in enumerate(self.sums):
            start = place + 1 if sum_ == 0 else start
            if sum_ > CUSUM_ALARM and CUSUM_REFERENCE + start not in found:
                found.append(CUSUM_REFERENCE + start)
        return tuple(found)

    @property
    def is_suspect(self) -> bool:
        """Whether the latest session has an alarm."""
        return bool(self.sums) and self.sums[-1] > CUSUM_ALARM

    @property
    def latest(self) -> int:
        """The number of sessions since the sum was last 0: those that have drifted."""
        return next((place for place, sum_ in enumerate(reversed(self.sums)) if not sum_), len(self.sums))


def drift(series: Sequence[float], floor: float = CUSUM_FLOOR) -> Drift:
    """Clipped CUSUM over a case's sessions, oldest first, with the first 30 as reference.

    ``floor``, the minimum spread of the metric's sessions, is added to their deviation. A later session that is not
    finite counts as the worst one. With 30 sessions or fewer there are no sums. Raises ValueError for a reference that
    is not finite.
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
    """A level shift: the index of its first session, and of the one in which it was detected."""

    began: int
    detected: int
    change: float
    """The median of the sessions from the one to the other, minus that of the reference."""


def change_points(series: Sequence[float], floor: float = CUSUM_FLOOR) -> tuple[ChangePoint, ...]:
    """Every level shift in a case's sessions, up or down, by the clipped CUSUM.

    After each shift the next 30 sessions are the new reference. All values must be finite.
    """
    found: list[ChangePoint] = []
    start = 0
    while point := min(_first_alarms(series, start, floor), key=lambda point: point.detected, default=None):
        found.append(point)
        start = point.began
    return tuple(found)


def _first_alarms(series: Sequence[float], start: int, floor: float) -> Iterator[ChangePoint]:
    for sign in (1, -1):
        sums = drift([sign * value for value in series[start:]], floor)
        if not sums.alarms:
            continue
        alarm = sums.alarms[0] - CUSUM_REFERENCE
        began = next((place + 1 for place in range(alarm, -1, -1) if not sums.sums[place]), 0)
        first, last = (start + CUSUM_REFERENCE + place for place in (began, alarm))
        before, after = series[start : start + CUSUM_REFERENCE], series[first : last + 1]
        yield ChangePoint(began=first, detected=last, change=float(np.median(after) - np.median(before)))


def _scores(reference: Values, later: Values, floor: float) -> list[float]:
    centre = np.median(reference)
    deviation = MAD_TO_SD * np.median(np.abs(reference - centre)) + floor
    scores = np.clip((later - centre) / deviation, -CUSUM_CLIP, CUSUM_CLIP)
    return [float(score) for score in np.where(np.isfinite(later), scores, CUSUM_CLIP)]
