"""Deciding a time at once, on the pairs that screen it, where the change is far beyond all that runs differ by.

Confirming a change takes three fresh pairs at least. It guards against two things: an error rate that is too high for
a session, and processes of two kinds, of which the baseline's may all happen to be the fast ones and the candidate's
the slow ones. A part of the budget that does not depend on data is for the first. Earlier runs of the baseline are for
the second: they show the kinds, unless they happen to be all of one.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from pytest_dlbench.judging.alpha_spending import FIRST_LOOK, LEAST_ALPHA
from pytest_dlbench.judging.intervals import Values
from pytest_dlbench.judging.sequential import (
    DECIDED,
    IMPROVED,
    INCONCLUSIVE,
    OPEN,
    REGRESSED,
    Decision,
    Replay,
    Rule,
    decision_of,
    replay,
)

# How often kinds of processes may be taken for a change: one case in 10,000 is 1 % of sessions with 100 cases.
MOST_BY_KINDS = 0.0001
# Two looks, of the first number of pairs that suffices and of one pair more: the confirmation has begun by then.
LOOKS = 2


@cache
def pairs_at_once(reference_runs: int) -> int:
    """The least number of pairs with which kinds that this many earlier runs did not show are rarely a change."""
    counts = range(FIRST_LOOK, 100)
    return next(count for count in counts if chance_of_kinds(count, reference_runs) <= MOST_BY_KINDS)


def chance_of_kinds(pairs: int, reference_runs: int) -> float:
    """How often two kinds of processes look like a change, for the share of kinds that makes it most likely.

    All earlier runs are of one kind, and so are the baseline's runs in the pairs, and those of the candidate are all of
    the other one.
    """
    share = np.linspace(0.0, 0.5, 5001)
    unseen = share**reference_runs + (1 - share) ** reference_runs
    return float((unseen * (share * (1 - share)) ** pairs).max())


def rule_at_once(rule: Rule, level: float, reference_runs: int) -> Rule | None:
    """The rule at this level; None if that is too small, or the pairs are too few.

    Wall time and processor time of alternating steps have half of it each.
    """
    least = pairs_at_once(reference_runs)
    if level < 2 * LEAST_ALPHA or least > rule.max_pairs:
        return None
    return replace(rule, alpha=level, min_pairs=least, max_pairs=min(least + LOOKS - 1, rule.max_pairs))


def decide_at_once(differences: Sequence[float], spread: float, rule: Rule, *, widest: float) -> Decision:
    """The decision on the pairs so far, inconclusive unless each of them is beyond the tolerance by ``widest`` or more.

    That is how much the earlier runs differ.
    """
    values = np.array([differences], dtype=np.float64)
    return decision_of(replay_at_once(values, np.array([spread]), np.array([widest]), rule))


def replay_at_once(differences: Values, spreads: Values, widest: Values, rule: Rule) -> Replay:
    """The same for many comparisons at once."""
    found = replay(differences, spreads, rule)
    places = np.arange(differences.shape[1])
    signs = np.where(found.outcome == IMPROVED, -1.0, 1.0)[:, np.newaxis]
    # More pairs bring the nearest one no further away: what is not far now will not be later.
    nearest = np.where(places < found.pairs[:, np.newaxis], signs * differences, np.inf).min(axis=1, initial=np.inf)
    is_far = np.isin(found.outcome, (REGRESSED, IMPROVED)) & (nearest - rule.tolerance > widest)
    found.outcome[~is_far] = INCONCLUSIVE
    found.reason[~is_far & (found.reason == DECIDED)] = OPEN
    return found
