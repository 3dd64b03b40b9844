"""Whether a published claim holds in records of runs: rules (claim_rules.py), decided by intervals.

Every rule becomes comparisons, each an interval and the range in which it must be. A claim holds if the 90 % intervals
of all of its comparisons are inside, and does not hold if one is outside; the latter is corrected for their number,
because one of many would be outside by chance.

Two things that no interval shows are required of the runs as well. Metrics of single steps need FEWEST_STEPS of them
in every run after the warm-up. And a figure that the kernel counts in ticks is known no better than a tick: the
interval of a level is that much wider on either side, however well the runs agree.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pytest_dlbench.judging import verdicts
from pytest_dlbench.judging.claim_cases import Observed
from pytest_dlbench.judging.claim_rules import Candidate, Compared, Effect, Order, Range, Rule, Steeper, values_of
from pytest_dlbench.judging.comparable import FEWEST_RUNS, is_whole_recipe
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.readings import timed_steps
from pytest_dlbench.records.outcomes import ClaimOutcome

# The steps that a run must have after its warm-up for metrics of single steps.
FEWEST_STEPS = 3


class Obstacle(StrEnum):
    """Why a claim cannot be decided."""

    NO_EQUIVALENT = "no_equivalent"
    NOT_MEASURED = "not_measured"
    NO_GPU = "no_gpu"
    NOT_RUN = "not_run"
    OTHER_DATA = "other_data"
    CUT_SHORT = "cut_short"
    TOO_FEW_RUNS = "too_few_runs"
    TOO_FEW_STEPS = "too_few_steps"
    NOTHING_TO_COMPARE = "nothing_to_compare"
    TOO_SHORT = "too_short"
    TOO_WIDE = "too_wide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The evidence: a case, compared with another unless ``reference`` is empty; ``compared`` has the same as data.

    ``interval`` has 5 % in either tail, ``corrected`` that over the number of comparisons of the claim. ``pairs`` is
    how many pairs the two cases ran in, 0 if they ran one after the other. ``of`` is equal for comparisons of the same
    two cases on one machine in different sessions and at different scales. ``is_settled``: it is open and does not
    count, because pairs of the same two cases decide. Both intervals are wider by ``resolution`` on either side than
    the runs alone would make them.
    """

    subject: str
    reference: str
    compared: Compared
    metric: str
    interval: Interval
    corrected: Interval
    within: Range
    pairs: int = 0
    of: Hashable = None
    resolution: float = 0.0
    is_settled: bool = False

    @property
    def outcome(self) -> ClaimOutcome:
        """What it says by itself."""
        return self.within.says(self.interval, self.corrected)

    @property
    def is_too_short(self) -> bool:
        """Whether it is open for no other reason than that its runs are too short to resolve the figure."""
        exact = (_widened(found, -self.resolution) for found in (self.interval, self.corrected))
        return self.outcome is ClaimOutcome.UNDECIDED and self.within.says(*exact) is not ClaimOutcome.UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on a claim. ``obstacle`` is None if it is decided.

    ``missing`` are the models and frameworks that it also needs and that nothing was compared of.
    """

    outcome: ClaimOutcome
    obstacle: Obstacle | None = None
    comparisons: tuple[Comparison, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class _Found:
    """What records have for the rules of one claim."""

    candidates: list[tuple[str, Candidate]] = field(default_factory=list)
    obstacles: list[Obstacle] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def decide(rules: Sequence[Rule], observed: Sequence[Observed]) -> Decision:
    """The verdict on a claim, all of whose rules must hold."""
    found = _Found()
    for rule in rules:
        _look(rule, observed, found)
    level = verdicts.ALPHA / max(1, len(found.candidates))
    comparisons = tuple(_settled([_compared(metric, one, level) for metric, one in found.candidates]))
    outcomes = {comparison.outcome for comparison in comparisons if not comparison.is_settled}
    missing = tuple(dict.fromkeys(found.missing))
    if ClaimOutcome.DOES_NOT_HOLD in outcomes:
        return Decision(outcome=ClaimOutcome.DOES_NOT_HOLD, comparisons=comparisons, missing=missing)
    if outcomes == {ClaimOutcome.HOLDS} and not found.obstacles:
        return Decision(outcome=ClaimOutcome.HOLDS, comparisons=comparisons)
    # What is missing comes first: without it more runs of the other cases decide nothing.
    still_open = [one for one in comparisons if one.outcome is ClaimOutcome.UNDECIDED and not one.is_settled]
    are_too_short = still_open and all(one.is_too_short for one in still_open)
    why_open = Obstacle.TOO_SHORT if are_too_short else Obstacle.TOO_WIDE
    obstacle = found.obstacles[0] if found.obstacles else why_open
    return Decision(outcome=ClaimOutcome.UNDECIDED, obstacle=obstacle, comparisons=comparisons, missing=missing)


def _settled(comparisons: Sequence[Comparison]) -> Iterator[Comparison]:
    """The same, with a mark on those that are open without pairs where pairs decide."""
    decided = {
        (one.metric, one.of, one.within)
        for one in comparisons
        if one.pairs and one.outcome is not ClaimOutcome.UNDECIDED
    }
    for one in comparisons:
        is_open = one.outcome is ClaimOutcome.UNDECIDED and not one.pairs
        yield replace(one, is_settled=is_open and (one.metric, one.of, one.within) in decided)


def _look(rule: Rule, observed: Sequence[Observed], found: _Found) -> None:
    if obstacle := _impossible(rule):
        found.obstacles.append(obstacle)
        return
    cases, obstacle = _in_scope(rule, observed)
    candidates = list(rule.candidates([one for one in cases if _has_steps(METRICS[rule.scope.metric], one)]))
    found.candidates += [(rule.scope.metric, one) for one in candidates]
    if missing := _missing(rule, candidates):
        found.missing += missing
        found.obstacles.append(obstacle or _why_missing(rule, cases, candidates))


def _missing(rule: Rule, candidates: Iterable[Candidate]) -> list[str]:
    """What a rule needs and nothing was compared of."""
    covered = frozenset[str]().union(*(one.covers for one in candidates))
    return [need for need in rule.needs if need not in covered]


def _why_missing(rule: Rule, cases: Sequence[Observed], candidates: Sequence[Candidate]) -> Obstacle:
    """Why the cases of the scope do not suffice: of some, the runs may have too few steps."""
    if len(_missing(rule, rule.candidates(cases))) < len(_missing(rule, candidates)):
        return Obstacle.TOO_FEW_STEPS
    return Obstacle.NOT_RUN if candidates else Obstacle.NOTHING_TO_COMPARE


def _impossible(rule: Rule) -> Obstacle | None:
    """Why no records decide the rule: a framework or a metric that does not exist."""
    if rule.scope.metric not in METRICS:
        return Obstacle.NOT_MEASURED
    leading = rule.named[:1] if isinstance(rule, Order | Steeper) else ()
    is_lacking = any(not name.ours for name in leading) or (rule.named and not rule.needs)
    return Obstacle.NO_EQUIVALENT if is_lacking else None


def _in_scope(rule: Rule, observed: Sequence[Observed]) -> tuple[list[Observed], Obstacle | None]:
    """The cases that a rule may use; if there are none, the first reason."""
    scope, metric = rule.scope, METRICS[rule.scope.metric]
    if needs_gpu(rule) and not any(one.case.device == "gpu" and one.case.model in scope.models for one in observed):
        return [], Obstacle.NO_GPU
    steps: tuple[tuple[Obstacle, Callable[[Observed], bool]], ...] = (
        (Obstacle.NOT_RUN, lambda one: one.case.device in scope.devices),
        (Obstacle.NOT_RUN, lambda one: scope.threads[0] <= one.case.threads <= scope.threads[1]),
        # What several workers do is another subject: of two, each has its own libraries in memory.
        (Obstacle.NOT_RUN, lambda one: one.case.workers == 1 or _is_of_workers(rule)),
        (Obstacle.NOT_RUN, lambda one: one.case.model in scope.models and _is_of(metric, one)),
        (Obstacle.OTHER_DATA, lambda one: not scope.datasets or one.case.dataset in scope.datasets),
        (Obstacle.CUT_SHORT, lambda one: not metric.needs_whole_recipe or is_whole_recipe(one.case, one.context)),
        (Obstacle.TOO_FEW_RUNS, lambda one: len(values_of(metric, one)) >= FEWEST_RUNS),
    )
    cases = list(observed)
    for obstacle, keeps in steps:
        cases = [one for one in cases if keeps(one)]
        if not cases:
            return [], obstacle
    return cases, None


def needs_gpu(rule: Rule) -> bool:
    """Whether the rule is about GPUs, by themselves or against processors."""
    return rule.scope.devices == ("gpu",) or (isinstance(rule, Effect) and rule.axis == "device")


def _is_of_workers(rule: Rule) -> bool:
    return isinstance(rule, Effect | Steeper) and rule.axis == "workers"


def _is_of(metric: Metric, one: Observed) -> bool:
    return metric.purpose is None or all(run.purpose == metric.purpose for run in one.runs)


def _has_steps(metric: Metric, one: Observed) -> bool:
    """Whether every run has enough timed steps for a metric of single steps."""
    return not metric.is_of_steps or all(timed_steps(run) >= FEWEST_STEPS for run in one.runs)


def _widened(found: Interval, by: float) -> Interval:
    return replace(found, lower=found.lower - by, upper=found.upper + by)


def _compared(metric: str, one: Candidate, level: float) -> Comparison:
    return Comparison(
        subject=one.subject,
        reference=one.reference,
        compared=one.compared,
        metric=metric,
        interval=_widened(one.measure(verdicts.ALPHA), one.resolution),
        corrected=_widened(one.measure(level), one.resolution),
        within=one.within,
        pairs=one.pairs,
        of=one.of,
        resolution=one.resolution,
    )
