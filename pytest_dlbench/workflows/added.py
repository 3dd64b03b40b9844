"""A case of an A/B test whose baseline lacks the program: the candidate alone, with nothing to compare it with."""

from pytest_dlbench import judging
from pytest_dlbench.judging.reasons import invalid, unfinished
from pytest_dlbench.planning.plan import REPEATS
from pytest_dlbench.records import CaseOutcome, CaseResult, Record, Run, RunOutcome
from pytest_dlbench.records.reasons import NotInBaseline
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows.baseline_gate import result
from pytest_dlbench.workflows.recording import conclude, kept_if_interrupted, record_of
from pytest_dlbench.workflows.runs import make_runs
from pytest_dlbench.workflows.session import Session


def train(session: Session, candidate: RunSpec, node: str, missing: NotInBaseline) -> tuple[Record, CaseResult]:
    """Run the candidate, so that its test's own requirements are checked; ``node`` is the test's id."""
    session.claims.claim(candidate, node)
    made: list[Run] = []
    settings = session.settings
    with kept_if_interrupted(session, candidate, lambda: made, settings.runs):
        runs = make_runs(session, candidate, settings.runs, settings.repeats, made=made)
        record = record_of(session, candidate, runs)
    judged = _judge(session, record, missing)
    conclude(session, record, judged)
    return record, judged


def _judge(session: Session, record: Record, missing: NotInBaseline) -> CaseResult:
    if outcome := judging.of_runs(record.runs):
        failed = next(run for run in record.runs if run.outcome is not RunOutcome.FINISHED)
        return result(record, outcome, unfinished(failed))
    if not session.settings.keeps_invalid and any(run.invalid for run in record.runs):
        return result(record, CaseOutcome.INVALID, missing, invalid({"": record.runs}, REPEATS))
    return result(record, CaseOutcome.NO_BASELINE, missing)
