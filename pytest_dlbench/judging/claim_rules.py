"""Five kinds of rules about published claims: which comparisons each makes of cases, and what must be of them."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isfinite, nan
from typing import ClassVar, Literal

import numpy as np

from pytest_dlbench.judging.claim_cases import (
    IGNORED,
    Axis,
    Ends,
    Named,
    Observed,
    at_any_scale,
    by_published_name,
    ends_of,
    groups_of,
    value_at,
    values_at,
)
from pytest_dlbench.judging.frameworks import of_pairs, of_runs
from pytest_dlbench.judging.intervals import Interval, of_mean
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.pairs import Pair, difference
from pytest_dlbench.judging.scales import badness
from pytest_dlbench.records.outcomes import ClaimOutcome

Direction = Literal["higher", "lower", "same"]


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
        for group in groups_of(cases, {"framework"}):
            known = by_published_name(group, self.named)
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
        for group in groups_of(cases, {"framework"}):
            known = by_published_name(group, self.frameworks)
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
        of_claim = [one for one in cases if self.between is None or value_at(self.axis, one) in self.between]
        for name, (small, large) in ends_of(of_claim, self.axis, self.frameworks):
            covers = _covers(small, name) if name else frozenset({small.case.model})
            yield _of_pair(self.scope.metric, large, small, within, covers, axis=self.axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steeper(_Leading):
    """A larger value of ``axis`` is of more use to ``first`` than to each of the ``others``."""

    kind: ClassVar[str] = "steeper"
    axis: Axis

    def candidates(self, cases: Sequence[Observed]) -> Iterator[Candidate]:
        """The comparisons that these cases allow."""
        for group in groups_of(cases, {"framework", *IGNORED[self.axis]}, but=self.axis):
            ends = {name.published: found for name, found in ends_of(group, self.axis, self.named) if name}
            first = ends.get(self.first.published)
            for other in self.others:
                found = ends.get(other.published)
                # From one thread to two is no gain to compare with that from one to four.
                if first and found and values_at(self.axis, first) == values_at(self.axis, found):
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
        for group in groups_of(cases, {"framework"}):
            known = by_published_name(group, self.frameworks)
            for name in self.frameworks:
                if one := known.get(name.published):
                    yield Candidate(
                        subject=one.case.id,
                        reference="",
                        compared=Compared(one=one),
                        covers=_covers(one, name),
                        within=Range(lower=self.lower, upper=self.upper),
                        measure=_mean(metric, values_of(metric, one)),
                        resolution=_resolution(metric, one),
                    )


Rule = Order | Alike | Effect | Steeper | Reaches
RULES: Mapping[str, type[Rule]] = {kind.kind: kind for kind in (Order, Alike, Effect, Steeper, Reaches)}


def _resolution(metric: Metric, one: Observed) -> float:
    """By how much ticks may move the mean over runs, in percent: by no more than they may move its shortest run."""
    return 100 * max(map(metric.resolution, one.runs)) if metric.resolution else 0.0


def values_of(metric: Metric, one: Observed) -> list[float]:
    """The comparable values of the runs; none if one of the runs has none."""
    found = [metric.figure(run) for run in one.runs]
    return found if all(isfinite(badness(metric, value)) for value in found) else []


def _of_pair(
    name: str, one: Observed, other: Observed, within: Range, covers: frozenset[str], *, axis: Axis | None = None
) -> Candidate:
    metric = METRICS[name]
    values, others, pairs = values_of(metric, one), values_of(metric, other), _pairs(metric, one, other)
    at = (value_at(axis, one), value_at(axis, other)) if axis else (nan, nan)

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
        of=(at_any_scale(one), at_any_scale(other)),
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
    gains = [[values_of(metric, one) for one in ends] for ends in (ours, theirs)]

    def measure(alpha: float) -> Interval:
        # Half of the level for either gain: both are inside their intervals at least as often as asked.
        gain, reference = (of_runs(metric, large, small, alpha / 2) for small, large in gains)
        return Interval(
            estimate=gain.estimate / reference.estimate,
            lower=gain.lower / reference.upper,
            upper=gain.upper / reference.lower,
        )

    return Candidate(
        subject=f"{ours[1].case.id} over {axis} {value_at(axis, ours[0]):g}",
        reference=f"{theirs[1].case.id} over {axis} {value_at(axis, theirs[0]):g}",
        compared=Compared(
            one=ours[1], other=theirs[1], axis=axis, values=(value_at(axis, ours[1]), value_at(axis, ours[0]))
        ),
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
