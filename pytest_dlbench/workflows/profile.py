"""Why a case regressed, by the framework's own profiler: one more run of either side, which is in no measurement."""

from dataclasses import replace

from pytest_dlbench.judging.operators import operator_changes
from pytest_dlbench.records import CaseResult, Run, RunOutcome
from pytest_dlbench.records.reasons import NotProfiled, Profiled
from pytest_dlbench.running import devices
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.workflows.session import Session

# Taken once before they are profiled: compiled and warm by then.
STEPS = 10


def profiled(session: Session, old: RunSpec, new: RunSpec, result: CaseResult) -> CaseResult:
    """The result with the operators that changed most, or with why they are not known."""
    with devices.held(new.case.device, lambda: session.progress.waiting(new.case, new.case.device)) as card:
        runs = [_profile(spec, card) for spec in (old, new)]
    if unfinished := next((run for run in runs if run.outcome is not RunOutcome.FINISHED), None):
        problem = unfinished.message.partition("\n")[0]
        return replace(result, reasons=(*result.reasons, NotProfiled(problem=problem)))
    found = operator_changes(*(run.operator_seconds for run in runs))
    return replace(result, reasons=(*result.reasons, Profiled()), operators=found)


def _profile(spec: RunSpec, card: str) -> Run:
    return train_once(replace(spec, card=card, steps=min(STEPS, spec.steps), is_profiled=True, evaluate_after=()), 0)
