"""Many cases and metrics in one session, with one false-alarm budget for all of them together.

Each metric is screened. A change that the screening finds is run again on fresh pairs, at its share of the budget.
Correcting the level of the screening pairs afterwards would find nothing, because they stop just below their level: to
decide a time at once, a part of the budget is reserved beforehand (see ``at_once``).
"""

from dataclasses import replace
from math import floor, sqrt

from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.sequential import Decision, Rule
from pytest_dlbench.records import VerdictOutcome

SCREENING_ALPHA = 0.05
# The chance of any false "regressed" among all cases and metrics of a session.
BUDGET = 0.01
CHANGES = frozenset({VerdictOutcome.REGRESSED, VerdictOutcome.IMPROVED})


def screening(rule: Rule) -> Rule:
    """The rule of a metric until it is flagged."""
    return replace(rule, alpha=SCREENING_ALPHA)


def is_flagged(screened: Decision) -> bool:
    """Whether fresh pairs must confirm what the screening found."""
    return screened.outcome in CHANGES


def confirming(rule: Rule, level: float) -> Rule:
    """The rule of a flagged metric on fresh pairs."""
    return replace(rule, alpha=level)


def part_of(place: int, cases: int, budget: float = BUDGET, workers: int = 1) -> float:
    """The part of the budget of the ``place``-th case (from 1) in which a metric is flagged, of all ``cases``.

    A quarter of the budget is for all cases in equal parts, so that each has one; half of it is taken in turn, so that
    a single slow case is not judged as if all might be slow. Each of ``workers`` has an equal part of what is taken in
    turn.
    """
    return budget / 4 / cases + budget / 2 / workers / (place * (place + 1))


def part_at_once(cases: int, budget: float = BUDGET) -> float:
    """The part of the budget with which each of ``cases`` may be decided at once: a quarter, in equal parts."""
    return budget / 4 / cases


def share_in_turn(place: int, budget: float = BUDGET) -> float:
    """The level of candidate number ``place`` (from 1), if it must be settled before the next is known.

    A half of the budget, a sixth, a twelfth …, but at least the smallest level of the table: all together spend no more
    than the budget. Raises ValueError if the budget is spent.
    """
    if place > places_in_turn(budget):
        raise ValueError(f"the budget of {budget:.2%} false alarms is spent by {places_in_turn(budget)} candidates")
    return max(budget / (place * (place + 1)), LEAST_ALPHA)


def places_in_turn(budget: float) -> int:
    """For how many successive candidates a budget suffices."""
    # The first n, each with budget/(n·(n+1)) or more, leave budget/(n+1) to the others.
    falling = floor((sqrt(1 + 4 * budget / LEAST_ALPHA) - 1) / 2)
    return falling + floor(budget / (falling + 1) / LEAST_ALPHA)
