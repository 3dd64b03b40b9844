"""Profiles a regression: one more run of each side, not measured, under the framework's own profiler."""

from dataclasses import replace
from functools import partial

from pytest_dlbench.judging.operators import operator_changes
from pytest_dlbench.records import CaseResult, Run, RunOutcome
from pytest_dlbench.records.reasons import NotProfiled, Profiled
from pytest_dlbench.running import devices
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.running.waits import DeviceBusyError, Patience, busy
from pytest_dlbench.workflows.session import Session

# All of them also run once before they are profiled, so that code is compiled and caches are warm.
STEPS = 10


def profiled(session: Session, baseline: NetworkSpec, candidate: NetworkSpec, result: CaseResult) -> CaseResult:
    """The result with the operators that changed most, or with the reason why they are unknown."""
    case = candidate.case
    patience = Patience(waiting=lambda wait: session.progress.waiting(case, wait), limit_seconds=candidate.wait_seconds)
    try:
        with devices.held(case.device, patience, partial(devices.gpus, candidate.gpu_numbers)) as gpu:
            runs = [_profile(spec, gpu) for spec in (baseline, candidate)]
    except DeviceBusyError as error:
        return replace(result, reasons=(*result.reasons, NotProfiled(problem=busy(error.wait))))
    if unfinished := next((run for run in runs if run.outcome is not RunOutcome.FINISHED), None):
        problem = unfinished.message.partition("\n")[0]
        return replace(result, reasons=(*result.reasons, NotProfiled(problem=problem)))
    found = operator_changes(*(run.operator_seconds for run in runs))
    return replace(result, reasons=(*result.reasons, Profiled()), operators=found)


def _profile(spec: NetworkSpec, gpu: str) -> Run:
    return train_once(replace(spec, gpu=gpu, steps=min(STEPS, spec.steps), is_profiled=True, evaluate_after=()), 0)
