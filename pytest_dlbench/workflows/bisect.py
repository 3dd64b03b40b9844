"""Searches for the first bad version: each version that is tested runs in pairs with the good one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.bisection import Answer, next_place
from pytest_dlbench.judging.reasons import unfinished
from pytest_dlbench.judging.sequential import Reason as Stop
from pytest_dlbench.judging.terms import terms_of
from pytest_dlbench.judging.two_stage import until_decided
from pytest_dlbench.records import Run, Verdict, VerdictOutcome
from pytest_dlbench.records.reasons import NotFinishedError, Reason, Unavailable
from pytest_dlbench.running.pairs import InvalidError, UnfinishedError
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.lengths import decided_pair
from pytest_dlbench.workflows.recording import calibrated_spreads, reference_runs, step_spread
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
    """The test of a version: one metric, how much worse it may be, and the error rate and length of the test."""

    metric: str
    tolerance: float
    alpha: float
    max_pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result for one version.

    ``rule`` says why the stopping rule stopped, ``reason`` why the version was not tested or has no answer. ``old`` and
    ``new`` are the last pair of runs, of the good version and of this one. All are unset for the good version itself.
    """

    answer: Answer
    rule: Stop | None = None
    reason: Reason | None = None
    verdict: Verdict | None = None
    old: Run | None = None
    new: Run | None = None


@dataclass(slots=True, kw_only=True)
class Search:
    """A bisection over versions, oldest first; the oldest is good. ``found`` has results by index, and grows."""

    names: Sequence[str]
    compare: Callable[[str], Comparison]
    found: dict[int, Comparison] = field(default_factory=dict)

    def run(self) -> None:
        """Bisect. The newest version comes first: if it is not bad, there is nothing to find."""
        self.found[0] = Comparison(answer=Answer.GOOD)
        newest = len(self.names) - 1
        self.found[newest] = self.compare(self.names[newest])
        while self.is_bad and (place := next_place(self.answers)) is not None:
            self.found[place] = self.compare(self.names[place])

    @property
    def answers(self) -> dict[int, Answer]:
        """The answers so far, by index."""
        return {place: comparison.answer for place, comparison in self.found.items()}

    @property
    def is_bad(self) -> bool:
        """Whether the newest version is known to be bad."""
        newest = self.found.get(len(self.names) - 1)
        return newest is not None and newest.answer is Answer.BAD


def compare(session: Session, good: RunSpec, spec_of: Callable[[], RunSpec], question: Question) -> Comparison:
    """Compare a version with the good one; raises DlbenchError if the good one does not run."""
    try:
        spec = spec_of()
    except DlbenchError as error:
        return Comparison(answer=Answer.SKIPPED, reason=Unavailable(problem=str(error)))
    if isinstance(spec.place, Absent):
        return Comparison(answer=Answer.SKIPPED, reason=Unavailable(problem=spec.place.reason))
    return _compared(session, good, spec, question)


def _compared(session: Session, good: RunSpec, spec: RunSpec, question: Question) -> Comparison:
    good, spec = decided_pair(session, good, spec)
    metrics = session.settings.metrics
    metric = metrics[question.metric]
    reference, calibrated = reference_runs(session, good), calibrated_spreads(session, good, spec)
    terms = terms_of(
        {metric.name: question.tolerance},
        question.max_pairs,
        reference,
        metrics,
        calibrated,
        steps=step_spread(session, good, spec),
    )
    pairs = pairs_of(session, good, spec, question.max_pairs)
    with pairs.alone():
        try:
            used, decision, found = until_decided(lambda: next_of(pairs), metric, question.alpha, terms)
        except UnfinishedError as error:
            if error.run.case == good.case.id:
                raise NotFinishedError(unfinished(error.run, "baseline", good.framework.name)) from None
            return Comparison(answer=Answer.SKIPPED, reason=unfinished(error.run))
        except InvalidError as error:
            reason = reasons.invalid_pair(error, session.settings.repeats)
            return Comparison(answer=Answer.INCONCLUSIVE, reason=reason)
    return Comparison(
        answer=ANSWERS[decision.outcome],
        rule=decision.reason,
        verdict=found,
        old=used[-1].old,
        new=used[-1].new,
    )
