"""A case of an A/B test whose baseline lacks the program: the candidate alone, with nothing to compare it with."""

from collections.abc import Mapping

from pytest_dlbench.records import CaseOutcome, CaseResult, Record, Run
from pytest_dlbench.records.reasons import NotInBaseline
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows.baseline_gate import result
from pytest_dlbench.workflows.benchmark import unjudged, with_absolute
from pytest_dlbench.workflows.lengths import decided
from pytest_dlbench.workflows.recording import conclude, kept_if_interrupted, record_of
from pytest_dlbench.workflows.runs import make_runs
from pytest_dlbench.workflows.session import Session


def train(
    session: Session, candidate: RunSpec, node: str, tolerance: Mapping[str, float], missing: NotInBaseline
) -> tuple[Record, CaseResult]:
    """Run the candidate, and judge what needs no baseline; ``node`` is the test's id."""
    session.claims.claim(candidate, node)
    candidate = decided(session, candidate)
    made: list[Run] = []
    settings = session.settings
    with kept_if_interrupted(session, candidate, lambda: made, settings.runs):
        runs = make_runs(session, candidate, settings.runs, settings.repeats, made=made)
        record = record_of(session, candidate, runs)
    judged = unjudged(session, record) or with_absolute(
        record, result(record, CaseOutcome.NO_BASELINE, missing), tolerance, settings.metrics
    )
    conclude(session, record, judged)
    return record, judged
