"""Saves the cases of a test in their baselines once the test has passed: its assertions may refuse them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_dlbench import judging
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import CaseOutcome, CaseResult, Record
from pytest_dlbench.records.reasons import NotSaved
from pytest_dlbench.workflows.recording import conclude
from pytest_dlbench.workflows.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The cases of a test that has ended, and the ``problems`` for which they could not be saved."""

    results: tuple[CaseResult, ...]
    problems: tuple[str, ...]


def settle(session: Session, node: str, current: Mapping[str, CaseResult], *, refusal: NotSaved | None) -> Settled:
    """Save the cases that this test measured unless there is a refusal, and append their results to the journal.

    ``current`` are the results by case as the test left them: it may have failed, or added a caution.
    """
    results: list[CaseResult] = []
    problems: list[str] = []
    for record, compared in session.unsaved.pop(node, []):
        left = current.get(record.case.id, compared)
        # While it waits, a case passes whatever it was judged to be.
        judged = left if left.outcome is CaseOutcome.FAILED else replace(compared, cautions=left.cautions)
        if refusal:
            found = replace(judged, reasons=(refusal, *judged.reasons))
        else:
            found = _saved(session, record, judged)
            problems += [one.problem for one in found.reasons if isinstance(one, NotSaved)]
        conclude(session, record, found)
        results.append(found)
    return Settled(results=tuple(results), problems=tuple(problems))


def _saved(session: Session, record: Record, compared: CaseResult) -> CaseResult:
    try:
        saved = session.comparer.save(record, compared)
    except DlbenchError as error:
        return replace(compared, reasons=(NotSaved(cause="problem", problem=str(error)), *compared.reasons))
    return replace(saved, outcome=judging.with_validity(saved.outcome, record.runs))
