"""The search for the first bad version: each one that is asked is run in pairs with the good one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.bisection import Answer, next_place
from pytest_dlbench.judging.multiple_testing import CaseMetric
from pytest_dlbench.judging.pairs import verdict
from pytest_dlbench.judging.reasons import unfinished
from pytest_dlbench.judging.scales import limit
from pytest_dlbench.judging.sequential import Rule
from pytest_dlbench.judging.two_stage import until_decided
from pytest_dlbench.records import Run, Verdict, VerdictOutcome
from pytest_dlbench.records.reasons import NotFinishedError, Reason, Unavailable
from pytest_dlbench.running.pairs import InvalidError, UnfinishedError
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.runs import next_of, pairs_of
from pytest_dlbench.workflows.session import Session

ANSWERS = {
    VerdictOutcome.REGRESSED: Answer.BAD,
    VerdictOutcome.EQUIVALENT: Answer.GOOD,
    VerdictOutcome.IMPROVED: Answer.GOOD,
    VerdictOutcome.INCONCLUSIVE: Answer.INCONCLUSIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a version: one metric, how much worse it may be, and how surely that is answered."""

    metric: str
    tolerance: float
    alpha: float
    max_pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is known of a version.

    ``rule`` says why the rule answered when it did, ``reason`` why it was not asked or has no answer: None of the
    version that was given as the good one. ``old`` and ``new`` are the last pair of runs, the good version's first.
    """

    answer: Answer
    rule: str = ""
    reason: Reason | None = None
    verdict: Verdict | None = None
    old: Run | None = None
    new: Run | None = None


@dataclass(slots=True, kw_only=True)
class Search:
    """Versions, the oldest first, which is good. ``found`` is by their places, and grows while it runs."""

    names: Sequence[str]
    compare: Callable[[str], Comparison]
    found: dict[int, Comparison] = field(default_factory=dict)

    def run(self) -> None:
        """First the newest: where that is not bad there is nothing to look for."""
        self.found[0] = Comparison(answer=Answer.GOOD)
        newest = len(self.names) - 1
        self.found[newest] = self.compare(self.names[newest])
        while self.is_bad and (place := next_place(self.answers)) is not None:
            self.found[place] = self.compare(self.names[place])

    @property
    def answers(self) -> dict[int, Answer]:
        """By place."""
        return {place: comparison.answer for place, comparison in self.found.items()}

    @property
    def is_bad(self) -> bool:
        """Whether the newest version was found to be bad."""
        newest = self.found.get(len(self.names) - 1)
        return newest is not None and newest.answer is Answer.BAD


def compare(session: Session, good: RunSpec, spec_of: Callable[[], RunSpec], question: Question) -> Comparison:
    """One version against the good one; raises DlbenchError where that is the one that does not run."""
    try:
        spec = spec_of()
    except DlbenchError as error:
        return Comparison(answer=Answer.SKIPPED, reason=Unavailable(problem=str(error)))
    if isinstance(spec.place, Absent):
        return Comparison(answer=Answer.SKIPPED, reason=Unavailable(problem=spec.place.reason))
    return _compared(session, good, spec, question)


def _compared(session: Session, good: RunSpec, spec: RunSpec, question: Question) -> Comparison:
    metrics = session.settings.metrics
    metric = metrics[question.metric]
    rule = Rule(tolerance=limit(metric, question.tolerance), alpha=question.alpha, max_pairs=question.max_pairs)
    pairs = pairs_of(session, good, spec, question.max_pairs)
    with pairs.alone():
        try:
            used, standings = until_decided(lambda: next_of(pairs), {metric.name: rule}, metrics)
        except UnfinishedError as error:
            if error.run.case == good.case.id:
                raise NotFinishedError(unfinished(error.run, "baseline", good.framework.name)) from None
            return Comparison(answer=Answer.SKIPPED, reason=unfinished(error.run))
        except InvalidError as error:
            reason = reasons.invalid_pair(error, session.settings.repeats)
            return Comparison(answer=Answer.INCONCLUSIVE, reason=reason)
    decision = standings[CaseMetric(case="", metric=metric.name)].decision
    return Comparison(
        answer=ANSWERS[decision.outcome],
        rule=decision.reason.value,
        verdict=verdict(metric, used, decision, question.tolerance),
        old=used[-1].old,
        new=used[-1].new,
    )
