"""What would decide a metric that its pairs left undecided."""

from collections.abc import Sequence
from math import isfinite, sqrt
from statistics import fmean

from pytest_dlbench.judging.alpha_spending import FIRST_LOOK, LAST_LOOK, level_of_a_look
from pytest_dlbench.judging.intervals import PRIOR_FREEDOM
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.multiple_testing import SCREENING_ALPHA
from pytest_dlbench.judging.pairs import Pair
from pytest_dlbench.judging.power import as_given, smallest_tolerance
from pytest_dlbench.judging.scales import limit
from pytest_dlbench.judging.sequential import Decision, Reason
from pytest_dlbench.judging.two_stage import Found, Terms
from pytest_dlbench.records import VerdictOutcome
from pytest_dlbench.records.reasons import TightTolerance, UndecidedPairs

# More pairs say nothing more about these.
SETTLED = (Reason.CASE_ENDED, Reason.NOT_FINITE)


def undecided(found: Found, terms: Terms) -> tuple[UndecidedPairs, ...]:
    """What would decide each metric that had to be decided and was not."""
    seconds = _seconds_of_a_pair([*found.screened, *found.confirmed])
    return tuple(
        _undecided(terms, verdict.metric, found.decisions[verdict.metric], found.levels.get(verdict.metric), seconds)
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
            smallest=as_given(terms.metrics[name], smallest_tolerance(decision.spread, max_pairs=terms.max_pairs)),
        )
        for name, decision in found.decisions.items()
        if decision.reason is Reason.TOO_VARIABLE
    )


def pairs_needed(decision: Decision, tolerance: float, *, alpha: float, is_one_sided: bool) -> int | None:
    """The number of pairs that would decide it if they went on like this; None if not even the most would."""
    if not isfinite(decision.spread):
        return None
    gap = _gap(decision.estimate, tolerance, is_one_sided=is_one_sided)
    counts = range(max(FIRST_LOOK, decision.pairs + 1), LAST_LOOK + 1)
    return next((count for count in counts if _half_width(decision.spread, count, alpha) < gap), None)


def _undecided(terms: Terms, name: str, decision: Decision, level: float | None, seconds: float) -> UndecidedPairs:
    metric = terms.metrics[name]
    is_one_sided = metric.kind == "points"
    pairs = pairs_needed(
        decision,
        limit(metric, terms.tolerances[name]),
        alpha=SCREENING_ALPHA if level is None else level,
        is_one_sided=is_one_sided,
    )
    return UndecidedPairs(
        metric=name,
        pairs=pairs,
        seconds=None if pairs is None else pairs * seconds,
        resolved=_resolved(metric, decision, is_one_sided=is_one_sided),
    )


def _gap(estimate: float, tolerance: float, *, is_one_sided: bool) -> float:
    """How far the estimate is from the nearest limit that an interval must not hold."""
    return tolerance - estimate if is_one_sided and estimate < tolerance else abs(abs(estimate) - tolerance)


def _half_width(spread: float, pairs: int, alpha: float) -> float:
    from scipy import special  # noqa: PLC0415 - as in intervals

    quantile = special.stdtrit(PRIOR_FREEDOM + pairs - 1, 1 - level_of_a_look(alpha, pairs))
    return float(quantile) * spread / sqrt(pairs)


def _resolved(metric: Metric, decision: Decision, *, is_one_sided: bool) -> float | None:
    """The tolerance at which these pairs would have cleared it, as written; None if they set no bounds."""
    least = decision.upper if is_one_sided else max(decision.upper, -decision.lower)
    return as_given(metric, least) if isfinite(least) and least > 0 else None


def _seconds_of_a_pair(pairs: Sequence[Pair]) -> float:
    return fmean(pair.old.wall_seconds + pair.new.wall_seconds for pair in pairs)
