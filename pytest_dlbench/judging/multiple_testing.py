"""Many cases and metrics in one session, with one false-alarm budget for all of them together.

All are screened with few pairs. Possible regressions are run again on fresh pairs, each at its share of the budget;
only these may call a case regressed. Correcting the level of the screening pairs afterwards would find nothing, because
they stop just below their level.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor, sqrt

from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.sequential import Decision, Reason, Rule
from pytest_dlbench.records import VerdictOutcome

SCREENING_ALPHA = 0.05
SCREENING_PAIRS = 10
# The chance of any false "regressed" among all cases and metrics of a session.
BUDGET = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class CaseMetric:
    """One metric of one case."""

    case: str
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The current decision on one metric of a case, and its rule."""

    rule: Rule
    decision: Decision


def screening(rule: Rule) -> Rule:
    """The rule of the first pass."""
    pairs = min(rule.max_pairs, SCREENING_PAIRS)
    return replace(rule, alpha=SCREENING_ALPHA, max_pairs=pairs, min_pairs=min(rule.min_pairs, pairs))


def candidates(screened: Mapping[CaseMetric, Standing]) -> tuple[CaseMetric, ...]:
    """The possible regressions, which the second pass may confirm.

    Undecided metrics that look better than the tolerance are not among them: the fewer, the more each one may spend.
    """
    return tuple(sorted(key for key, standing in screened.items() if _is_candidate(standing)))


def _is_candidate(standing: Standing) -> bool:
    is_undecided = standing.decision.outcome is VerdictOutcome.INCONCLUSIVE
    looks_worse = standing.decision.estimate > standing.rule.tolerance
    return standing.decision.outcome is VerdictOutcome.REGRESSED or (is_undecided and looks_worse)


def confirming(rule: Rule, candidates: int, budget: float = BUDGET) -> Rule:
    """The rule of one candidate on fresh pairs: all candidates together err with ``budget``.

    It does not give up early, which would miss some real regressions.
    """
    return replace(rule, alpha=budget / candidates, gives_up=False)


def share_in_turn(place: int, budget: float = BUDGET) -> float:
    """The level of the session's candidate number ``place`` (from 1), if it must be settled before the next is known.

    A half of the budget, a sixth, a twelfth …, but at least the smallest level of the table: all together spend no more
    than the budget. That detects less than equal shares for all candidates would, and more than equal shares for every
    case that might become one. Raises ValueError if the budget is spent.
    """
    if place > places_in_turn(budget):
        raise ValueError(f"the budget of {budget:.2%} false alarms is spent by {places_in_turn(budget)} candidates")
    return max(budget / (place * (place + 1)), LEAST_ALPHA)


def places_in_turn(budget: float) -> int:
    """For how many successive candidates a budget suffices."""
    # The first n, each with budget/(n·(n+1)) or more, leave budget/(n+1) to the others.
    falling = floor((sqrt(1 + 4 * budget / LEAST_ALPHA) - 1) / 2)
    return falling + floor(budget / (falling + 1) / LEAST_ALPHA)


def settled(
    screened: Mapping[CaseMetric, Standing], confirmed: Mapping[CaseMetric, Standing]
) -> dict[CaseMetric, Standing]:
    """What is reported for every metric: the second pass of candidates; without one, a candidate is inconclusive."""
    unconfirmed = {key: _unconfirmed(standing) for key, standing in screened.items()}
    return {**unconfirmed, **confirmed}


def _unconfirmed(standing: Standing) -> Standing:
    """A regression found only by the screening is inconclusive, because its level is not the session's."""
    if standing.decision.outcome is not VerdictOutcome.REGRESSED:
        return standing
    decision = replace(standing.decision, outcome=VerdictOutcome.INCONCLUSIVE, reason=Reason.UNCONFIRMED)
    return replace(standing, decision=decision)
