"""The gate's rule: pair after pair until the interval of the change is on one side of the tolerance.

A difference is that of the two runs of a pair, above 0 if the new one is worse: ln(new / old) for a time, points lost
for an accuracy. After each pair from the third on, a moderated interval of the mean difference is compared with
±tolerance, at a level that accounts for all looks (see ``alpha_spending``). What one look has excluded stays excluded:
the interval of a decision is the intersection of those of all looks so far.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.judging.alpha_spending import FIRST_LOOK, LAST_LOOK, level_of_a_look
from pytest_dlbench.judging.intervals import QUARTILE_TO_SD, Moderated, Values, moderated
from pytest_dlbench.records import VerdictOutcome

# The error rate of a change exactly at the tolerance, on either side.
ALPHA = 0.025
# Until this pair, the rule does not conclude anything if pairs differ by more than these reference spreads: a
# reference measured on a quieter day would make it certain too early.
SETTLED_PAIRS = 8
GUARD_SPREADS = 3.0
# From this pair on, the pairs show how much they vary.
SPREAD_PAIRS = 6
# A tolerance can be resolved if this share of unchanged comparisons is cleared at it.
POWER = 0.9
# A spread is wide if even the last pairs resolve no smaller change than this share of the tolerance.
WIDE = 0.5

Flags = NDArray[np.bool_]
Codes = NDArray[np.intp]


class Reason(StrEnum):
    """Why a decision is what it is; ``reporting.explain`` has the sentences.

    After the first three more pairs may still decide. The last four do not come from the rule: ``two_stage`` puts them
    in its place.
    """

    FEW_PAIRS = auto()
    SPREAD = auto()
    OPEN = auto()
    DECIDED = auto()
    TOO_VARIABLE = auto()
    EXHAUSTED = auto()
    NOT_FINITE = auto()
    UNCONFIRMED = auto()
    BUDGET_SPENT = auto()
    CASE_ENDED = auto()
    AT_ONCE = auto()


OUTCOMES = (
    VerdictOutcome.INCONCLUSIVE,
    VerdictOutcome.REGRESSED,
    VerdictOutcome.IMPROVED,
    VerdictOutcome.EQUIVALENT,
)
INCONCLUSIVE, REGRESSED, IMPROVED, EQUIVALENT = range(len(OUTCOMES))
REASONS = tuple(Reason)
FEW_PAIRS, SPREAD, OPEN, DECIDED, TOO_VARIABLE, EXHAUSTED, NOT_FINITE = range(7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A tolerance, and how often the rule may err.

    ``tolerance`` is in the unit of the differences, ``log(1.05)`` for 5 %. ``alpha``: a change that is exactly at the
    tolerance is called regressed, and one exactly at it called equivalent, in at most this share of comparisons.
    ``gives_up``: from pair SPREAD_PAIRS on, it stops as TOO_VARIABLE if all pairs together will not decide it because
    their spread is wide for the tolerance, as far as they show it. That makes errors no more likely. What looks worse
    than the tolerance, or is confirmed, goes on unless even the last interval will be wider than that.
    ``is_one_sided``: a change surely no worse than the tolerance is called equivalent, even if it is an improvement.
    ``widens``: the expected spread is at least what the upper quartile of the pairs shows. An assumed one does not know
    processes of two kinds, of which half of the pairs may show nothing. ``pairs_to_clear``: with fewer pairs, nothing
    is called equivalent, because they may all differ by what two kinds of processes do.
    """

    tolerance: float
    alpha: float = ALPHA
    min_pairs: int = FIRST_LOOK
    max_pairs: int = LAST_LOOK
    gives_up: bool = False
    is_one_sided: bool = False
    widens: bool = False
    pairs_to_clear: int = FIRST_LOOK

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < np.inf:
            raise ValueError(f"expected a tolerance above 0, got {self.tolerance}")
        if not FIRST_LOOK <= self.min_pairs <= self.max_pairs:
            raise ValueError(
                f"expected {FIRST_LOOK} ≤ min_pairs ≤ max_pairs, got {self.min_pairs} and {self.max_pairs}"
            )
        level_of_a_look(self.alpha, self.max_pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The rule's decision after ``pairs`` pairs, in the unit of the differences; above 0 is worse.

    The interval is the intersection of those of all looks so far: (-inf, inf) before the first one. It does not contain
    the estimate if pairs contradict earlier ones. ``spread`` is the standard deviation of a difference as seen at the
    last look, NaN before the first. ``was_held_back``: the spread guard applied at some look.
    ``is_of_cpu``: the differences are of processor time, which decided where those of wall time did not.
    """

    outcome: VerdictOutcome
    reason: Reason
    pairs: int
    estimate: float
    lower: float
    upper: float
    spread: float
    was_held_back: bool
    is_of_cpu: bool = False

    @property
    def is_final(self) -> bool:
        """Whether no further pair is needed."""
        return self.reason not in (Reason.FEW_PAIRS, Reason.SPREAD, Reason.OPEN)


def decide(differences: Sequence[float], spread: float, rule: Rule) -> Decision:
    """The decision after the pairs so far, in the order in which they were run.

    ``spread`` is the expected standard deviation of a difference for this case on this machine. The first final
    decision stands: later pairs, which run because of another metric, do not change it.
    """
    if not 0 < spread < np.inf:
        raise ValueError(f"expected a spread above 0, got {spread}")
    return decision_of(replay(np.array([differences], dtype=np.float64), np.array([spread]), rule))


def decision_of(found: "Replay") -> Decision:
    """The decision on the first of these comparisons."""
    return Decision(
        outcome=OUTCOMES[found.outcome[0]],
        reason=REASONS[found.reason[0]],
        pairs=int(found.pairs[0]),
        estimate=float(found.estimate[0]),
        lower=float(found.lower[0]),
        upper=float(found.upper[0]),
        spread=float(found.spread[0]),
        was_held_back=bool(found.was_held_back[0]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Decisions of many comparisons as arrays; outcomes and reasons are indices into OUTCOMES and REASONS."""

    outcome: Codes
    reason: Codes
    pairs: Codes
    estimate: Values
    lower: Values
    upper: Values
    spread: Values
    was_held_back: Flags


def replay(differences: Values, spreads: Values, rule: Rule) -> Replay:
    """Apply the rule to many comparisons at once, with one row of differences and one spread each.

    It is written for arrays so that simulations run the rule itself rather than a copy.
    """
    found = _begin(len(differences))
    for count in range(1, min(differences.shape[1], rule.max_pairs) + 1):
        rows = np.flatnonzero(found.reason < DECIDED)
        found.pairs[rows] = count
        is_finite = np.isfinite(differences[rows, count - 1])
        found.reason[rows[~is_finite]] = NOT_FINITE
        if count >= rule.min_pairs:
            rows = rows[is_finite]
            _look(found, rows, differences[rows, :count], spreads[rows], rule)
    return found


def _begin(comparisons: int) -> Replay:
    return Replay(
        outcome=np.full(comparisons, INCONCLUSIVE),
        reason=np.full(comparisons, FEW_PAIRS),
        pairs=np.zeros(comparisons, dtype=np.intp),
        estimate=np.full(comparisons, np.nan),
        lower=np.full(comparisons, -np.inf),
        upper=np.full(comparisons, np.inf),
        spread=np.full(comparisons, np.nan),
        was_held_back=np.zeros(comparisons, dtype=np.bool_),
    )


def _look(found: Replay, rows: Codes, differences: Values, spreads: Values, rule: Rule) -> None:
    """One look at the comparisons in ``rows``, which are still open."""
    count = differences.shape[1]
    if rule.widens:
        distances = np.abs(differences - np.median(differences, axis=-1, keepdims=True))
        spreads = np.maximum(spreads, QUARTILE_TO_SD * np.quantile(distances, 0.75, axis=-1))
    now = moderated(differences, spreads, is_robust=True)
    # At odd counts one order of the sides has one pair more: where the order matters, most pairs would be on its side.
    is_guarded = count < SETTLED_PAIRS or count % 2 == 1
    is_wide = _is_too_wide(differences, spreads)
    is_held = is_wide & is_guarded
    width = _quantile(now.freedom, rule) * now.error
    is_early = (
        (count < rule.pairs_to_clear) & (now.mean + width < rule.tolerance) & (now.mean + width > -rule.tolerance)
    )
    # What may not be cleared now must not be cleared later by what stays excluded. An assumed spread (``widens``) does
    # not know processes of two kinds: where it is exceeded, eight pairs are too few, too.
    is_mixed = is_wide & (rule.widens and count <= SETTLED_PAIRS)
    may_clear = ~(is_held | is_early | is_mixed)
    found.estimate[rows] = now.mean
    found.spread[rows] = now.error * sqrt(count)
    found.was_held_back[rows] |= is_held
    # A look that is held back excludes nothing, now or later.
    found.lower[rows] = np.maximum(found.lower[rows], np.where(is_held, -np.inf, now.mean - width))
    found.upper[rows] = np.minimum(found.upper[rows], np.where(may_clear, now.mean + width, np.inf))
    said = _outcome(now.mean, found.lower[rows], found.upper[rows], rule)
    said = np.where((said == EQUIVALENT) & ~may_clear, INCONCLUSIVE, said)
    outcome = np.where(is_held, INCONCLUSIVE, said)
    is_variable = _is_too_variable(now, count, rule)
    found.outcome[rows] = outcome
    found.reason[rows] = np.select(
        [outcome != INCONCLUSIVE, is_variable, np.full(len(rows), count == rule.max_pairs), is_held],
        [DECIDED, TOO_VARIABLE, EXHAUSTED, SPREAD],
        OPEN,
    )


def _is_too_wide(differences: Values, spreads: Values) -> Flags:
    distances = np.abs(differences - np.median(differences, axis=-1, keepdims=True))
    is_wide: Flags = distances.max(axis=-1) > GUARD_SPREADS * spreads
    return is_wide


def _outcome(estimate: Values, lower: Values, upper: Values, rule: Rule) -> Codes:
    """Inconclusive if the estimate is outside of the interval: pairs that contradict earlier ones are no evidence."""
    is_odd = (estimate < lower) | (estimate > upper)
    tolerance = rule.tolerance
    is_worse, is_better = lower > tolerance, upper < -tolerance
    is_within = (upper < tolerance) & ((lower > -tolerance) | rule.is_one_sided)
    codes = np.select([is_odd, is_worse, is_better, is_within], [INCONCLUSIVE, REGRESSED, IMPROVED, EQUIVALENT])
    return codes.astype(np.intp)


def _is_too_variable(now: Moderated, count: int, rule: Rule) -> Flags:
    """Whether the last look will not decide, because the pairs are too far apart for the tolerance."""
    from scipy import special  # noqa: PLC0415 - as in intervals

    if not rule.gives_up or count < min(SPREAD_PAIRS, rule.max_pairs):
        return np.zeros(len(now.mean), dtype=np.bool_)
    error = now.error * sqrt(count / rule.max_pairs)
    width = _quantile(now.freedom + rule.max_pairs - count, rule) * error
    # As in ``power.smallest_tolerance``. What looks worse goes on, and so do fresh pairs of what was found to be worse.
    resolved = width + float(special.ndtri((1 + POWER) / 2)) * error
    away = np.maximum(now.mean, 0.0) if rule.is_one_sided else np.abs(now.mean)
    looks_same = (away <= rule.tolerance) & (rule.alpha >= ALPHA)
    # A change close to the tolerance is none of the spread's unless that is wide, too.
    is_close = (away + width >= rule.tolerance) & (resolved >= rule.tolerance * WIDE)
    is_unresolved = (width >= rule.tolerance) | (((resolved >= rule.tolerance) | is_close) & looks_same)
    is_beyond = np.abs(now.mean) - width > rule.tolerance
    is_cleared = (now.mean + width < rule.tolerance) & (rule.is_one_sided | (now.mean - width > -rule.tolerance))
    is_variable: Flags = is_unresolved & ~is_beyond & ~is_cleared
    return is_variable


def _quantile(freedom: int, rule: Rule) -> float:
    from scipy import special  # noqa: PLC0415 - as in intervals

    return float(special.stdtrit(freedom, 1 - level_of_a_look(rule.alpha, rule.max_pairs)))
