"""Whether a published claim holds in records of runs: five kinds of rules, decided by intervals.

Every rule becomes comparisons, each an interval and the range in which it must be. A claim holds if the 90 % intervals
of all of its comparisons are inside, and does not hold if one is outside; the latter is corrected for their number,
because one of many would be outside by chance.

Two things that no interval shows are required of the runs as well. Metrics of single steps need FEWEST_STEPS of them
in every run after the warm-up. And a figure that the kernel counts in ticks is known no better than a tick: the
interval of a level is that much wider on either side, however well the runs agree.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations
from math import inf, isfinite, nan
from typing import Any, ClassVar, Literal

import numpy as np

from pytest_dlbench.judging import verdicts
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.frameworks import of_pairs, of_runs
from pytest_dlbench.judging.intervals import Interval, of_mean
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.pairs import Pair, difference
from pytest_dlbench.judging.readings import timed_steps
from pytest_dlbench.judging.scales import badness
from pytest_dlbench.records import Case, Context, Run
from pytest_dlbench.records.outcomes import ClaimOutcome

# The steps that a run must have after its warm-up for metrics of single steps.
FEWEST_STEPS = 3

Axis = Literal["batch_size", "learning_rate", "epochs", "threads", "workers", "device"]
Direction = Literal["higher", "lower", "same"]
Condition = tuple[str, Hashable]


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
class Observed:
    """A sound case of one session, with its valid runs.

    ``is_paired``: it is a side of a case that ran in pairs. ``session`` then also names that case, so that it is only
    compared with its other side, and both have the runs of the same pairs, in one order.
    """

    session: str
    case: Case
    context: Context
    recipe: Mapping[str, Any]
    runs: tuple[Run, ...]
    is_paired: bool = False


Ends = tuple[Observed, Observed]
"""The cases with the smallest and the largest value of an axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A framework by its published name, and those of ours that it stands for, in order of preference."""

    published: str
    ours: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The cases that a rule is about. ``devices`` are "cpu", "gpu", or both if either will do.

    Without ``datasets`` any will do: a step costs the same on all. ``threads`` are the fewest and the most.
    """

    metric: str
    models: tuple[str, ...]
    devices: tuple[str, ...] = ("cpu",)
    datasets: tuple[str, ...] = ()
    threads: tuple[float, float] = (1, inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Where an interval must be: a ratio, a difference in percentage points, or a figure of its own."""

    lower: float = -inf
    upper: float = inf

    def has(self, interval: Interval) -> bool:
        """Whether the interval is inside."""
        return self.lower < interval.lower and interval.upper < self.upper

    def excludes(self, interval: Interval) -> bool:
        """Whether the interval is outside."""
        return interval.upper <= self.lower or self.upper <= interval.lower

    def says(self, interval: Interval, corrected: Interval) -> ClaimOutcome:
        """The verdict: it holds by the interval, and does not hold by the corrected one."""
        if self.has(interval):
            return ClaimOutcome.HOLDS
        return ClaimOutcome.DOES_NOT_HOLD if self.excludes(corrected) else ClaimOutcome.UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What is compared, as data: two cases, or one with a limit if ``other`` is None.

    With an ``axis`` it is what the larger one of two values does. Where the framework is the same, these are the values
    of the two cases; otherwise the effects in two frameworks are compared.
    """

    one: Observed
    other: Observed | None = None
    axis: Axis | None = None
    values: tuple[float, float] = (nan, nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The evidence: a case, compared with another unless ``reference`` is empty; ``compared`` has the same as data.

    ``interval`` has 5 % in either tail, ``corrected`` that over the number of comparisons of the claim. ``pairs`` is
    how many pairs the two cases ran in, 0 if they ran one after the other. ``of`` is equal for comparisons of the same
    two cases in different sessions and at different scales. ``is_settled``: it is open and does not count, because
    pairs of the same two cases decide. Both intervals are wider by ``resolution`` on either side than the runs alone
    would make them.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A comparison that records allow. ``covers`` is what the claim needed it for."""

    subject: str
    reference: str
    compared: Compared
    covers: frozenset[str]
    within: Range
    measure: Callable[[float], Interval]
    pairs: int = 0
    of: Hashable = None
    resolution: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leading:
    """A rule on one framework against others, each of which it needs on every model."""

    scope: Scope
    first: Named
    others: tuple[Named, ...]

    @property
    def named(self) -> tuple[Named, ...]:
        """All of its frameworks."""
        return (self.first, *self.others)

    @property
    def needs(self) -> tuple[str, ...]:
        """What has to be compared before it can hold."""
        return _each(self.scope.models, self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Each:
    """A rule on every framework, each of which it needs on every model."""

    scope: Scope
    frameworks: tuple[Named, ...] = ()

    @property
    def named(self) -> tuple[Named, ...]:
        """All of its frameworks."""
        return self.frameworks

    @property
    def needs(self) -> tuple[str, ...]:
        """What has to be compared before it can hold."""
        return _each(self.scope.models, self.frameworks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(_Leading):
    """``first`` is better than each of the ``others`` in one case: by a factor, or by points."""

    kind: ClassVar[str] = "order"
    at_least: float | None = None

    def candidates(self, cases: Sequence[Observed]) -> Iterator[Candidate]:
        """The comparisons that these cases allow."""
        within = _better(METRICS[self.scope.metric], self.at_least)
        for group in _groups(cases, {"framework"}):
            known = _known(group, self.named)
            for other in self.others if self.first.published in known else ():
                if other.published in known:
                    pair = (known[self.first.published], known[other.published])
                    yield _of_pair(self.scope.metric, *pair, within, _covers(pair[0], other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike(_Each):
    """The frameworks differ by less than ``within``: a factor minus 1, or points."""

    kind: ClassVar[str] = "alike"
    within: float

    def candidates(self, cases: Sequence[Observed]) -> Iterator[Candidate]:
        """The comparisons that these cases allow."""
        within = _same(METRICS[self.scope.metric], self.within)
        for group in _groups(cases, {"framework"}):
            known = _known(group, self.frameworks)
            for one, other in combinations(self.frameworks, 2):
                if one.published in known and other.published in known:
                    pair = (known[one.published], known[other.published])
                    yield _of_pair(self.scope.metric, *pair, within, _covers(pair[0], one) | _covers(pair[0], other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect(_Each):
    """What a larger value of ``axis`` does, for each framework by itself: the largest value against the smallest.

    ``between`` are the two values that the claim is about, if it names them: from one thread to two is not from one to
    four. ``amount`` is the factor (or points) of at least which it is higher or lower, or
    within which it is the same. Without ``frameworks``, any will do, and all that were run count.
    """

    kind: ClassVar[str] = "effect"
    axis: Axis
    direction: Direction
    amount: float
    between: tuple[float, float] | None = None

    def candidates(self, cases: Sequence[Observed]) -> Iterator[Candidate]:
        """The comparisons that these cases allow."""
        within = _changed(METRICS[self.scope.metric], self.direction, self.amount)
        of_claim = [one for one in cases if self.between is None or _at(self.axis, one) in self.between]
        for name, (small, large) in _ends(of_claim, self.axis, self.frameworks):
            covers = _covers(small, name) if name else frozenset({small.case.model})
            yield _of_pair(self.scope.metric, large, small, within, covers, axis=self.axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steeper(_Leading):
    """A larger value of ``axis`` is of more use to ``first`` than to each of the ``others``."""

    kind: ClassVar[str] = "steeper"
    axis: Axis

    def candidates(self, cases: Sequence[Observed]) -> Iterator[Candidate]:
        """The comparisons that these cases allow."""
        for group in _groups(cases, {"framework", *_IGNORED[self.axis]}, but=self.axis):
            ends = {name.published: found for name, found in _ends(group, self.axis, self.named) if name}
            first = ends.get(self.first.published)
            for other in self.others:
                found = ends.get(other.published)
                # From one thread to two is no gain to compare with that from one to four.
                if first and found and _values_at(self.axis, first) == _values_at(self.axis, found):
                    yield _of_gains(self, first, found, other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaches(_Each):
    """Each framework's mean over runs is above ``lower`` and below ``upper``, in the metric's unit or percent.

    Runs may be so short that a single tick of the kernel's counter is more than the distance to a limit: these are open
    (``Obstacle.TOO_SHORT``), even if all of them read zero.
    """

    kind: ClassVar[str] = "reaches"
    lower: float = -inf
    upper: float = inf

    def candidates(self, cases: Sequence[Observed]) -> Iterator[Candidate]:
        """The comparisons that these cases allow."""
        metric = METRICS[self.scope.metric]
        for group in _groups(cases, {"framework"}):
            known = _known(group, self.frameworks)
            for name in self.frameworks:
                if one := known.get(name.published):
                    yield Candidate(
                        subject=one.case.id,
                        reference="",
                        compared=Compared(one=one),
                        covers=_covers(one, name),
                        within=Range(lower=self.lower, upper=self.upper),
                        measure=_mean(metric, _values(metric, one)),
                        resolution=_resolution(metric, one),
                    )


Rule = Order | Alike | Effect | Steeper | Reaches
RULES: Mapping[str, type[Rule]] = {kind.kind: kind for kind in (Order, Alike, Effect, Steeper, Reaches)}


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
    why_open = Obstacle.TOO_SHORT if any(one.is_too_short for one in comparisons) else Obstacle.TOO_WIDE
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
    if needs_gpu(rule) and not any(_device(one) == "gpu" and one.case.model in scope.models for one in observed):
        return [], Obstacle.NO_GPU
    steps: tuple[tuple[Obstacle, Callable[[Observed], bool]], ...] = (
        (Obstacle.NOT_RUN, lambda one: _device(one) in scope.devices),
        (Obstacle.NOT_RUN, lambda one: scope.threads[0] <= one.case.threads <= scope.threads[1]),
        # What several workers do is another subject: of two, each has its own libraries in memory.
        (Obstacle.NOT_RUN, lambda one: one.case.workers == 1 or _is_of_workers(rule)),
        (Obstacle.NOT_RUN, lambda one: one.case.model in scope.models and _is_of(metric, one)),
        (Obstacle.OTHER_DATA, lambda one: not scope.datasets or one.case.dataset in scope.datasets),
        (Obstacle.CUT_SHORT, lambda one: not (metric.needs_whole_recipe and is_cut_short(one.context))),
        (Obstacle.TOO_FEW_RUNS, lambda one: len(_values(metric, one)) >= FEWEST_RUNS),
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


def _device(one: Observed) -> str:
    return one.case.device


def _is_of(metric: Metric, one: Observed) -> bool:
    return metric.purpose is None or all(run.purpose == metric.purpose for run in one.runs)


def is_cut_short(context: Context) -> bool:
    """Whether a training ended before its recipe did, so that its accuracy is not the recipe's."""
    return context.recipe_steps is not None and context.steps < context.recipe_steps


def _has_steps(metric: Metric, one: Observed) -> bool:
    """Whether every run has enough timed steps for a metric of single steps."""
    return not metric.is_of_steps or all(timed_steps(run) >= FEWEST_STEPS for run in one.runs)


def _resolution(metric: Metric, one: Observed) -> float:
    """By how much ticks may move the mean over runs, in percent: by no more than they may move its shortest run."""
    return 100 * max(map(metric.resolution, one.runs)) if metric.resolution else 0.0


def _widened(found: Interval, by: float) -> Interval:
    return replace(found, lower=found.lower - by, upper=found.upper + by)


def _values(metric: Metric, one: Observed) -> list[float]:
    """The comparable values of the runs; none if one of the runs has none."""
    found = [metric.figure(run) for run in one.runs]
    return found if all(isfinite(badness(metric, value)) for value in found) else []


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


def _of_pair(
    name: str, one: Observed, other: Observed, within: Range, covers: frozenset[str], *, axis: Axis | None = None
) -> Candidate:
    metric = METRICS[name]
    values, others, pairs = _values(metric, one), _values(metric, other), _pairs(metric, one, other)
    at = (_at(axis, one), _at(axis, other)) if axis else (nan, nan)

    def measure(alpha: float) -> Interval:
        return of_pairs(metric, pairs, alpha) if pairs else of_runs(metric, values, others, alpha)

    return Candidate(
        subject=one.case.id,
        reference=other.case.id,
        compared=Compared(one=one, other=other, axis=axis, values=at),
        covers=covers,
        within=within,
        measure=measure,
        pairs=len(pairs),
        of=(_at_any_scale(one), _at_any_scale(other)),
    )


def _at_any_scale(one: Observed) -> Hashable:
    """A case without its scale: where the whole recipe is needed, the others are not in scope."""
    case = one.case
    # The size of a batch may be the recipe's in one session and a setting in another.
    settings = tuple(sorted((name, str(value)) for name, value in case.settings.items() if name != "batch_size"))
    return (
        case.framework,
        case.model,
        case.dataset,
        case.device,
        case.threads,
        case.workers,
        one.context.batch_size,
        settings,
    )


def _pairs(metric: Metric, one: Observed, other: Observed) -> Sequence[Pair]:
    """The pairs of two sides, ``one`` being the new one; none if they did not run in pairs or lack the figure."""
    if not (one.is_paired and other.is_paired) or metric.is_absolute:
        return ()
    found = [Pair(old=old, new=new) for old, new in zip(other.runs, one.runs, strict=True)]
    return found if all(isfinite(difference(metric, pair)) for pair in found) else ()


def _of_gains(rule: Steeper, ours: Ends, theirs: Ends, other: Named) -> Candidate:
    """The gain of one framework over that of another."""
    metric, axis = METRICS[rule.scope.metric], rule.axis
    gains = [[_values(metric, one) for one in ends] for ends in (ours, theirs)]

    def measure(alpha: float) -> Interval:
        # Half of the level for either gain: both are inside their intervals at least as often as asked.
        gain, reference = (of_runs(metric, large, small, alpha / 2) for small, large in gains)
        return Interval(
            estimate=gain.estimate / reference.estimate,
            lower=gain.lower / reference.upper,
            upper=gain.upper / reference.lower,
        )

    return Candidate(
        subject=f"{ours[1].case.id} over {axis} {_at(axis, ours[0]):g}",
        reference=f"{theirs[1].case.id} over {axis} {_at(axis, theirs[0]):g}",
        compared=Compared(one=ours[1], other=theirs[1], axis=axis, values=(_at(axis, ours[1]), _at(axis, ours[0]))),
        covers=_covers(ours[0], other),
        within=_better(metric, None),
        measure=measure,
    )


def _mean(metric: Metric, values: Sequence[float]) -> Callable[[float], Interval]:
    """The mean over runs: geometric for ratio metrics, in percent for points."""
    scaled = np.log(values) if metric.kind == "ratio" else 100 * np.array(values)

    def measure(alpha: float) -> Interval:
        found = of_mean(scaled, run_sd=metric.run_sd, is_robust=metric.is_robust, alpha=alpha)
        if metric.kind == "points":
            return found
        estimate, lower, upper = np.exp([found.estimate, found.lower, found.upper])
        return Interval(estimate=float(estimate), lower=float(lower), upper=float(upper))

    return measure


def _better(metric: Metric, at_least: float | None) -> Range:
    least = 1.0 if metric.kind == "ratio" else 0.0
    return _changed(metric, metric.better, least if at_least is None else at_least)


def _same(metric: Metric, amount: float) -> Range:
    if metric.kind == "ratio":
        return Range(lower=1 / (1 + amount), upper=1 + amount)
    return Range(lower=-amount, upper=amount)


def _changed(metric: Metric, direction: Direction, amount: float) -> Range:
    if direction == "same":
        return _same(metric, amount)
    if metric.kind == "ratio":
        return Range(lower=amount) if direction == "higher" else Range(lower=0.0, upper=1 / amount)
    return Range(lower=amount) if direction == "higher" else Range(upper=-amount)


def _each(models: Iterable[str], frameworks: Sequence[Named]) -> tuple[str, ...]:
    """What a rule needs: each framework that has an equivalent, on each model."""
    if not frameworks:
        return tuple(models)
    return tuple(f"{name.published} on {model}" for model in models for name in frameworks if name.ours)


def _covers(one: Observed, name: Named) -> frozenset[str]:
    return frozenset({f"{name.published} on {one.case.model}"})


def _known(group: Sequence[Observed], named: Sequence[Named]) -> dict[str, Observed]:
    """The preferred case of each published framework that the group has."""
    by_name = {one.case.framework: one for one in group}
    found = {name.published: next((by_name[ours] for ours in name.ours if ours in by_name), None) for name in named}
    return {published: one for published, one in found.items() if one}


def _ends(cases: Sequence[Observed], axis: Axis, named: Sequence[Named]) -> Iterator[tuple[Named | None, Ends]]:
    """The cases of one framework with the smallest and the largest value of an axis, all else being equal."""
    for group in _groups(cases, {"framework", *_IGNORED[axis]}, but=axis):
        by_name: dict[str, list[Observed]] = {}
        for one in sorted(group, key=lambda one: _at(axis, one)):
            by_name.setdefault(one.case.framework, []).append(one)
        found = {name: (of[0], of[-1]) for name, of in by_name.items() if _at(axis, of[0]) < _at(axis, of[-1])}
        if not named:
            yield from ((None, ends) for ends in found.values())
        for name in named:
            if ours := next((ours for ours in name.ours if ours in found), None):
                yield name, found[ours]


_IGNORED: Mapping[str, set[str]] = {
    "batch_size": {"batch_size", "steps"},
    "learning_rate": set(),
    "epochs": {"steps"},
    "threads": {"threads"},
    "workers": {"workers"},
    "device": {"device", "threads"},
}


def _at(axis: Axis, one: Observed) -> float:
    """The value of an axis; NaN if it is unknown, which no comparison includes."""
    if axis == "threads":
        return one.case.threads
    if axis == "workers":
        return one.case.workers
    if axis == "device":
        return float(_device(one) == "gpu")
    if axis == "batch_size":
        return one.context.batch_size or nan
    setting = one.case.settings.get(axis)
    value = one.recipe.get(axis, one.recipe.get("optimizer", {}).get(axis)) if setting is None else setting
    return float(value) if isinstance(value, int | float) else nan


def _values_at(axis: Axis, ends: Ends) -> tuple[float, ...]:
    return tuple(_at(axis, one) for one in ends)


def _groups(cases: Sequence[Observed], ignored: set[str], but: str = "") -> Iterator[list[Observed]]:
    """Cases of one session that differ in nothing but what is ignored, and the setting ``but``."""
    found: dict[tuple[Condition, ...], list[Observed]] = {}
    for one in cases:
        key = tuple(condition for condition in _conditions(one, but) if condition[0] not in ignored)
        found.setdefault(key, []).append(one)
    return iter(found.values())


def _conditions(one: Observed, but: str) -> Iterator[Condition]:
    case, context = one.case, one.context
    yield "session", one.session
    for name in ("framework", "model", "dataset", "device", "scale", "threads", "workers"):
        yield name, getattr(case, name)
    yield "settings", tuple(sorted((name, str(value)) for name, value in case.settings.items() if name != but))
    yield "variables", tuple(sorted(case.variables.items()))
    for name in ("network_digest", "dataset_digest", "batch_size", "steps", "precision", "init", "input", "allocator"):
        yield name, getattr(context, name)
    # Whether a framework autotunes by itself is part of it; where that was asked for, it is among the settings.
    yield "execution", tuple(name for name in context.execution if name != "autotune")
    yield "machine", context.machine.name
