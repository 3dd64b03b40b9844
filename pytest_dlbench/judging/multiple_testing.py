"""Many cases and metrics in one session, with one budget of false alarms for all of them together.

All are screened with few pairs. What may have regressed is run again on fresh pairs, each at its share of the budget;
only these may call a case regressed. To correct the level of pairs that stopped as soon as they could would
find nothing: they stop just below it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor, sqrt

from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.sequential import Decision, Reason, Rule
from pytest_dlbench.records import VerdictOutcome

SCREENING_ALPHA = 0.05
SCREENING_PAIRS = 10
# Of a session: any false "regressed" among all its cases and metrics.
BUDGET = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class CaseMetric:
    """One metric of one case."""

    case: str
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where one metric of a case stands, and by which rule."""

    rule: Rule
    decision: Decision


def screening(rule: Rule) -> Rule:
    """The rule of the first pass."""
    pairs = min(rule.max_pairs, SCREENING_PAIRS)
    return replace(rule, alpha=SCREENING_ALPHA, max_pairs=pairs, min_pairs=min(rule.min_pairs, pairs))


def candidates(screened: Mapping[CaseMetric, Standing]) -> tuple[CaseMetric, ...]:
    """What may have regressed: only of these another pass may say that they did.

    What is undecided and looks better than the tolerance is none: the fewer there are, the more each one may spend.
    """
    return tuple(sorted(key for key, standing in screened.items() if _is_candidate(standing)))


def _is_candidate(standing: Standing) -> bool:
    is_undecided = standing.decision.outcome is VerdictOutcome.INCONCLUSIVE
    looks_worse = standing.decision.estimate > standing.rule.tolerance
    return standing.decision.outcome is VerdictOutcome.REGRESSED or (is_undecided and looks_worse)


def confirming(rule: Rule, candidates: int, budget: float = BUDGET) -> Rule:
    """The rule of one candidate on fresh pairs: all of them together err with ``budget``.

    It does not give up: a candidate is worth its pairs, and giving up would miss some that did regress.
    """
    return replace(rule, alpha=budget / candidates, gives_up=False)


def share_in_turn(place: int, budget: float = BUDGET) -> float:
    """The level of the session's candidate number ``place``, from 1 on, where it must be settled before the next comes.

    A half of the budget, a sixth, a twelfth …, and no less than the least level there is: all together spend no more
    than the budget. That finds less than equal shares of all candidates, and more than equal shares of every case that
    might become one. Raises ValueError where nothing is left to call a regression by.
    """
    if place > places_in_turn(budget):
        raise ValueError(f"the budget of {budget:.2%} false alarms is spent by {places_in_turn(budget)} candidates")
    return max(budget / (place * (place + 1)), LEAST_ALPHA)


def places_in_turn(budget: float) -> int:
    """How many candidates a budget is good for that come one after the other."""
    # The first n, each with budget/(n·(n+1)) or more, leave budget/(n+1) to the others.
    falling = floor((sqrt(1 + 4 * budget / LEAST_ALPHA) - 1) / 2)
    return falling + floor(budget / (falling + 1) / LEAST_ALPHA)


def settled(
    screened: Mapping[CaseMetric, Standing], confirmed: Mapping[CaseMetric, Standing]
) -> dict[CaseMetric, Standing]:
    """What is reported of every metric: a candidate's second pass; of one that had none, that nothing is concluded."""
    unconfirmed = {key: _unconfirmed(standing) for key, standing in screened.items()}
    return {**unconfirmed, **confirmed}


def _unconfirmed(standing: Standing) -> Standing:
    """A finding of the screening alone is none: its level is not the session's."""
    if standing.decision.outcome is not VerdictOutcome.REGRESSED:
        return standing
    decision = replace(standing.decision, outcome=VerdictOutcome.INCONCLUSIVE, reason=Reason.UNCONFIRMED)
    return replace(standing, decision=decision)
