"""One case pair by pair: each metric is screened, and a change that is found is confirmed on fresh pairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from pytest_dlbench.judging import multiple_testing
from pytest_dlbench.judging.alpha_spending import FIRST_LOOK
from pytest_dlbench.judging.at_once import decide_at_once, rule_at_once
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.pairs import (
    TIMES,
    Decide,
    Pair,
    assumed_spread,
    decide_by_steps,
    difference,
    has_metric,
    having,
    is_on_one_path,
    rules,
    takes_turns,
    verdict,
)
from pytest_dlbench.judging.scales import limit, tolerance_at
from pytest_dlbench.judging.sequential import Decision, Reason, Rule, decide
from pytest_dlbench.judging.terms import Terms
from pytest_dlbench.records import Run, Verdict, VerdictOutcome

NextPair = Callable[[], Pair]
NextLevel = Callable[[], float | None]
"""The level of a case's next confirmation, None if the false-alarm budget is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All pairs, and what is reported for each metric, from the pairs of its last pass.

    ``screened`` are the pairs until the first metric was flagged, ``confirmed`` those after it. ``alpha`` is the total
    error rate of all confirmations, and of deciding at once where that was possible; ``levels`` has that of each metric
    that was confirmed or decided at once.
    """

    screened: Sequence[Pair]
    confirmed: Sequence[Pair]
    decisions: Mapping[str, Decision]
    verdicts: tuple[Verdict, ...]
    alpha: float
    levels: Mapping[str, float]


@dataclass(slots=True, kw_only=True)
class _Evidence:
    """The pairs of one pass, and a metric's differences in them, each of which is computed once."""

    metric: Metric
    spread: float
    step_spread: float
    is_of_one_kind: bool = False
    pairs: list[Pair] = field(default_factory=list, init=False)
    _differences: list[float] = field(default_factory=list, init=False)

    def add(self, pair: Pair) -> None:
        """One more pair."""
        self.pairs.append(pair)
        self._differences += [difference(self.metric, one) for one in having(self.metric, [pair])]

    def decided(self, rule: Rule, by: Decide = decide) -> Decision:
        """The decision so far, by steps where those of all pairs alternated; ``by`` applies the rule."""
        if self.pairs and all(takes_turns(self.metric, pair) for pair in self.pairs):
            is_of_one_kind = self.is_of_one_kind
            return decide_by_steps(self.pairs, rule, self.step_spread, is_of_one_kind=is_of_one_kind, decided=by)
        most = assumed_spread(self.metric) if self._is_repeated else inf
        return by(self._differences, min(self.spread, most), rule)

    @property
    def _is_repeated(self) -> bool:
        """Whether each pair learned the same and has the same figure: then it is irrelevant what seeds differ by.

        Neither is enough by itself: memory is not learned, and few test examples give two paths one accuracy by chance.
        """
        return self.metric.is_portable and not any(self._differences) and all(map(is_on_one_path, self.pairs))

    def fresh(self) -> "_Evidence":
        """That of the next pass, which has no pairs yet."""
        return replace(self)


@dataclass(slots=True, kw_only=True)
class _AtOnce:
    """All pairs of a metric that they may decide at once, whichever pass they are of, and its rule for that.

    ``widest`` is how far its reference runs are apart.
    """

    rule: Rule
    evidence: _Evidence
    widest: float
    decision: Decision | None = field(default=None, init=False)

    def add(self, pair: Pair) -> None:
        """One more pair; the first final decision stands."""
        if self.decision is None:
            self.evidence.add(pair)
            said = self.evidence.decided(self.rule, partial(decide_at_once, widest=self.widest))
            is_change = said.outcome in multiple_testing.CHANGES
            self.decision = replace(said, reason=Reason.AT_ONCE) if is_change else None


@dataclass(slots=True, kw_only=True)
class _Course:
    """One metric pair by pair: screened until it is flagged, then confirmed on the pairs from ``begins`` on.

    ``rule`` is at the level of a single comparison, ``tolerance`` what a verdict has of it; ``level`` is that of the
    confirmation, once it has begun. A metric that is only reported is never flagged. ``is_present``: any run has the
    metric. ``at_once``: all pairs together may decide it, too.
    """

    rule: Rule
    evidence: _Evidence
    tolerance: float
    is_reported: bool = False
    at_once: _AtOnce | None = None
    begins: int = 0
    level: float | None = None
    is_present: bool = False
    screened: Decision = field(init=False)
    confirmed: Decision | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.screened = self.evidence.decided(multiple_testing.screening(self.rule))

    @property
    def metric(self) -> Metric:
        """The metric that is judged."""
        return self.evidence.metric

    def add(self, pair: Pair) -> None:
        """One more pair."""
        self.evidence.add(pair)
        self.is_present |= has_metric(self.metric, pair)
        if self.at_once and not self._is_settled:
            self.at_once.add(pair)
        if self.level is not None:
            self.confirmed = self.evidence.decided(multiple_testing.confirming(self.rule, self.level))
        elif not self.is_flagged:
            self.screened = self.evidence.decided(multiple_testing.screening(self.rule))

    def expect(self, old: Run) -> None:
        """Apply the tolerance of figures as large as those of this run; before the first pair."""
        self.tolerance = tolerance_at(self.metric, self.tolerance, self.metric.figure(old))
        self.rule = replace(self.rule, tolerance=limit(self.metric, self.tolerance))

    @property
    def _is_settled(self) -> bool:
        """Whether the screening cleared it, or the confirmation ended."""
        return self.confirmed.is_final if self.confirmed else self.screened.is_final and not self.is_flagged

    @property
    def decided_at_once(self) -> Decision | None:
        """The decision on all pairs, if they are enough."""
        return self.at_once.decision if self.at_once else None

    @property
    def is_flagged(self) -> bool:
        """Whether the screening found a change."""
        return not self.is_reported and multiple_testing.is_flagged(self.screened)

    @property
    def awaits_level(self) -> bool:
        """Whether it is flagged, and its confirmation has not begun."""
        return self.is_flagged and self.level is None and not self.decided_at_once

    def confirm(self, begins: int, level: float) -> None:
        """Begin with fresh pairs."""
        self.begins, self.level = begins, level
        self.evidence = self.evidence.fresh()

    @property
    def is_open(self) -> bool:
        """Whether another pair of the present pass may still decide it."""
        if self.is_reported or self.awaits_level or self.decided_at_once:
            return False
        return len(self.evidence.pairs) < self.rule.max_pairs and not self._is_settled

    @property
    def has_regressed(self) -> bool:
        """Whether fresh pairs confirmed a regression, or all pairs showed it at once."""
        found = self.decided_at_once or self.confirmed
        return found is not None and found.outcome is VerdictOutcome.REGRESSED

    def decision(self, unfinished: Reason) -> Decision:
        """What is reported; ``unfinished`` is why an open metric has no more pairs."""
        if self.decided_at_once:
            return self.decided_at_once
        if self.confirmed is None and self.is_flagged:
            # The level of the screening is not the session's.
            return replace(self.screened, outcome=VerdictOutcome.INCONCLUSIVE, reason=Reason.UNCONFIRMED)
        found = self.confirmed or self.screened
        return replace(found, reason=unfinished) if self.is_open else found

    def verdict(self, decision: Decision, *, is_default: bool) -> Verdict:
        """The verdict; it does not decide if its own runs cannot show what is asked, and nobody asked for more."""
        is_unknown = decision.reason is Reason.TOO_VARIABLE or (is_default and decision.reason is Reason.FEW_PAIRS)
        decides = not self.is_reported and not is_unknown
        evidence = self.at_once.evidence if self.at_once and self.decided_at_once else self.evidence
        return verdict(self.metric, evidence.pairs, decision, self.tolerance, decides=decides)

    @property
    def tried(self) -> float:
        """The error rates of its confirmation and of deciding it at once, whatever they found."""
        confirming = self.level if self.confirmed and self.level else 0.0
        return confirming + (self.at_once.rule.alpha if self.at_once else 0.0)

    @property
    def spent(self) -> float:
        """The level of what decided: of the confirmation, or of all pairs at once; 0 for the screening."""
        if self.at_once and self.decided_at_once:
            return self.at_once.rule.alpha
        return self.level or 0.0 if self.confirmed else 0.0


@dataclass(slots=True, kw_only=True)
class Passes:
    """A case pair by pair. ``next_level`` is called once for each metric that is flagged, while there is time.

    ``begins_pass``: with the next pair, a confirmation begins.
    """

    terms: Terms
    next_level: NextLevel
    pairs: list[Pair] = field(default_factory=list, init=False)
    _courses: list[_Course] = field(init=False)
    begins_pass: bool = field(default=False, init=False)
    _is_stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        terms = self.terms
        judged = rules(terms.tolerances, terms.metrics, max_pairs=terms.max_pairs, defaults=terms.defaults)
        alongside = rules(terms.reported, terms.metrics, max_pairs=terms.max_pairs)
        self._courses = [
            _Course(
                rule=rule,
                evidence=_evidence(terms, rule, terms.metrics[name]),
                tolerance=terms.reported[name] if name in alongside else terms.tolerances[name],
                is_reported=name in alongside,
                at_once=_at_once(terms, rule, terms.metrics[name]) if name in judged else None,
            )
            for name, rule in {**alongside, **judged}.items()
        ]

    def goes_on(self, has_time: Callable[[], bool]) -> bool:
        """Whether another pair is wanted, and there is time for it; flagged metrics take their levels here.

        The pairs of a first look are run whatever the time: fewer of them can conclude nothing. A confirmed regression
        ends the case.
        """
        courses = self._judged()
        is_open = any(course.is_open for course in courses)
        if not self.pairs or (is_open and len(self.pairs) < FIRST_LOOK):
            return True
        flagged = [course for course in courses if course.awaits_level]
        if any(course.has_regressed for course in courses) or not (is_open or flagged):
            return False
        if not has_time():
            self._is_stopped = True
            return False
        for course in flagged:
            if (level := self.next_level()) is not None:
                course.confirm(len(self.pairs), level)
                self.begins_pass = True
        return any(course.is_open for course in courses)

    def add(self, pair: Pair) -> None:
        """One more pair."""
        if not self.pairs:
            for course in self._courses:
                course.expect(pair.old)
        self.begins_pass = False
        self.pairs.append(pair)
        for course in self._courses:
            course.add(pair)

    def _judged(self) -> list[_Course]:
        """The metrics that any of the runs has: images have no perplexity, and short runs show no leak."""
        found = [course for course in self._courses if course.is_present]
        # With nothing to judge, nothing could fail.
        return found if any(not course.is_reported for course in found) else self._courses

    def found(self) -> Found:
        """What is reported, after at least one pair."""
        unfinished = Reason.BUDGET_SPENT if self._is_stopped else Reason.CASE_ENDED
        decided = {course.metric.name: (course, course.decision(unfinished)) for course in self._judged()}
        levels = {name: course.spent for name, (course, _) in decided.items() if course.spent}
        confirmed = [course for course, _ in decided.values() if course.confirmed and not course.decided_at_once]
        split = min((course.begins for course in confirmed), default=len(self.pairs))
        return Found(
            screened=self.pairs[:split],
            confirmed=self.pairs[split:],
            decisions={name: decision for name, (_, decision) in decided.items()},
            verdicts=tuple(
                course.verdict(decision, is_default=name in self.terms.defaults)
                for name, (course, decision) in decided.items()
            ),
            alpha=sum(course.tried for course, _ in decided.values()),
            levels=levels,
        )


def judge(
    next_pair: NextPair,
    terms: Terms,
    next_level: NextLevel,
    has_time: Callable[[], bool] = lambda: True,
    begin_pass: Callable[[], None] = lambda: None,
) -> Found:
    """A case from its first pair to its last; ``begin_pass`` is called before the first pair of a confirmation."""
    passes = Passes(terms=terms, next_level=next_level)
    while passes.goes_on(has_time):
        if passes.begins_pass:
            begin_pass()
        passes.add(next_pair())
    return passes.found()


def until_decided(
    next_pair: NextPair, metric: Metric, alpha: float, terms: Terms
) -> tuple[list[Pair], Decision, Verdict]:
    """One pass of its own: pairs until a metric is decided, at this error rate and at the tolerance of its figures."""
    first = next_pair()
    tolerance = tolerance_at(metric, terms.tolerances[metric.name], metric.figure(first.old))
    rule = Rule(tolerance=limit(metric, tolerance), alpha=alpha, max_pairs=terms.max_pairs)
    evidence = _evidence(terms, rule, metric)
    evidence.add(first)
    while not (decision := evidence.decided(rule)).is_final and len(evidence.pairs) < rule.max_pairs:
        evidence.add(next_pair())
    return evidence.pairs, decision, verdict(metric, evidence.pairs, decision, tolerance)


def _evidence(terms: Terms, rule: Rule, metric: Metric) -> _Evidence:
    return _Evidence(
        metric=metric,
        spread=terms.spreads[metric.name],
        step_spread=terms.step_spread,
        is_of_one_kind=terms.apart(metric.name) < rule.tolerance,
    )


def _at_once(terms: Terms, rule: Rule, metric: Metric) -> _AtOnce | None:
    """What decides a time at once, where earlier runs show how much it differs; its level is shared by all times."""
    times = [name for name in terms.tolerances if name in TIMES]
    if metric.name not in times or terms.apart(metric.name) == inf:
        return None
    found = rule_at_once(rule, terms.at_once / len(times), terms.reference_runs)
    if found is None:
        return None
    return _AtOnce(rule=found, evidence=_evidence(terms, rule, metric), widest=terms.apart(metric.name))
