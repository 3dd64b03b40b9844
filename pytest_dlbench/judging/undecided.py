"""What would decide a metric that its pairs left undecided."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, sqrt
from statistics import fmean, median

from pytest_dlbench.judging.alpha_spending import FIRST_LOOK, LAST_LOOK, level_of_a_look
from pytest_dlbench.judging.intervals import PRIOR_FREEDOM
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.multiple_testing import SCREENING_ALPHA, part_of, share_in_turn
from pytest_dlbench.judging.pairs import PAIRS_TO_CLEAR, Pair, difference, having, level_by_steps, rules, takes_turns
from pytest_dlbench.judging.power import as_given, smallest_tolerance
from pytest_dlbench.judging.sequential import Decision, Reason
from pytest_dlbench.judging.terms import Terms
from pytest_dlbench.judging.two_stage import Found
from pytest_dlbench.records import Verdict, VerdictOutcome
from pytest_dlbench.records.reasons import TightTolerance, UndecidedPairs

# More pairs say nothing more about these.
SETTLED = (Reason.CASE_ENDED, Reason.NOT_FINITE)
# The level of the first confirmation of a session of one case.
FIRST_LEVEL = share_in_turn(1, part_of(1, 1))


def undecided(found: Found, terms: Terms) -> tuple[UndecidedPairs, ...]:
    """What would decide each metric that had to be decided and was not."""
    return tuple(
        _undecided(found, terms, verdict)
        for verdict in found.verdicts
        if verdict.decides
        and verdict.outcome is VerdictOutcome.INCONCLUSIVE
        and found.decisions[verdict.metric].reason not in SETTLED
    )


def too_variable(found: Found, terms: Terms) -> tuple[TightTolerance, ...]:
    """The metrics whose own spread is too wide for their default tolerances, with the changes that pairs resolve."""
    return tuple(
        TightTolerance(
            metric=name,
            asked=terms.tolerances[name],
            smallest=as_given(terms.metrics[name], _smallest(decision, terms.max_pairs)),
        )
        for name, decision in found.decisions.items()
        if decision.reason is Reason.TOO_VARIABLE
    )


def _smallest(decision: Decision, max_pairs: int) -> float:
    """The least tolerance that the most pairs would resolve, if they went on like this."""
    away = max(decision.estimate, 0.0) + _half_width(decision.spread, max_pairs, SCREENING_ALPHA)
    return max(away, smallest_tolerance(decision.spread, max_pairs=max_pairs))


def pairs_needed(
    decision: Decision, tolerance: float, *, alpha: float, is_one_sided: bool, least: int = FIRST_LOOK, taken: int = 0
) -> int | None:
    """The number of pairs that would decide it if they went on like this; None if not even the most would.

    It is ``least`` or more, and more than were ``taken``.
    """
    if not isfinite(decision.spread):
        return None
    gap = _gap(decision.estimate, tolerance, is_one_sided=is_one_sided)
    counts = range(max(least, taken + 1), LAST_LOOK + 1)
    return next((count for count in counts if _half_width(decision.spread, count, alpha) < gap), None)


def _undecided(found: Found, terms: Terms, verdict: Verdict) -> UndecidedPairs:
    name = verdict.metric
    metric, pairs = terms.metrics[name], [*found.screened, *found.confirmed]
    decision = _seen(found.decisions[name], metric, pairs, terms.spread(name))
    if decision.estimate < decision.lower or decision.estimate > decision.upper:
        return UndecidedPairs(metric=name, pairs=None, seconds=None, resolved=None, is_contradictory=True)
    applied = {name: verdict.tolerance}
    rule = rules(applied, terms.metrics, max_pairs=terms.max_pairs, defaults=terms.defaults)[name]
    is_one_sided, tolerance = rule.is_one_sided, rule.tolerance
    # What had no time to be confirmed needs fresh pairs, too, at a level that is not known.
    is_confirmation = name in found.levels or decision.reason is Reason.UNCONFIRMED
    alpha = found.levels.get(name, FIRST_LEVEL if is_confirmation else SCREENING_ALPHA)
    by_steps = all(takes_turns(metric, pair) for pair in pairs)
    alpha = level_by_steps(pairs, alpha) if by_steps else alpha
    may_be_mixed = by_steps and terms.apart(name) >= tolerance
    needed = pairs_needed(
        decision,
        tolerance,
        alpha=alpha,
        is_one_sided=is_one_sided,
        least=PAIRS_TO_CLEAR if may_be_mixed and abs(decision.estimate) < tolerance else FIRST_LOOK,
        taken=0 if decision.reason is Reason.UNCONFIRMED else decision.pairs,
    )
    screened = len(found.screened) if is_confirmation else 0
    resolved = _resolved(decision, is_one_sided=is_one_sided)
    return UndecidedPairs(
        metric=name,
        pairs=needed,
        seconds=None if needed is None else (screened + needed) * _seconds_of_a_pair(pairs),
        resolved=None if resolved is None else as_given(metric, resolved),
        is_confirmation=is_confirmation,
        resolvable=_resolvable(metric, decision, tolerance, alpha) if resolved is None else None,
    )


def _seen(decision: Decision, metric: Metric, pairs: Sequence[Pair], spread: float) -> Decision:
    """The decision, with what all pairs and the expected spread say where it has too few pairs of its own."""
    known = [difference(metric, pair) for pair in having(metric, pairs)]
    if isfinite(decision.spread) or not known:
        return decision
    return replace(decision, estimate=median(known), spread=spread)


def _gap(estimate: float, tolerance: float, *, is_one_sided: bool) -> float:
    """How far the estimate is from the nearest limit that an interval must not hold."""
    return tolerance - estimate if is_one_sided and estimate < tolerance else abs(abs(estimate) - tolerance)


def _half_width(spread: float, pairs: int, alpha: float) -> float:
    from scipy import special  # noqa: PLC0415 - as in intervals

    quantile = special.stdtrit(PRIOR_FREEDOM + pairs - 1, 1 - level_of_a_look(alpha, pairs))
    return float(quantile) * spread / sqrt(pairs)


def _resolved(decision: Decision, *, is_one_sided: bool) -> float | None:
    """The least tolerance at which these pairs would have cleared it; None if they set no bounds."""
    least = decision.upper if is_one_sided else max(decision.upper, -decision.lower)
    return least if isfinite(least) and least > 0 else None


def _resolvable(metric: Metric, decision: Decision, tolerance: float, alpha: float) -> float | None:
    """The tolerance, as written, at which the most pairs would clear it if they went on like this."""
    least = abs(decision.estimate) + _half_width(decision.spread, LAST_LOOK, alpha)
    return as_given(metric, least) if isfinite(least) and least > tolerance else None


def _seconds_of_a_pair(pairs: Sequence[Pair]) -> float:
    return fmean(pair.old.wall_seconds + pair.new.wall_seconds for pair in pairs)
