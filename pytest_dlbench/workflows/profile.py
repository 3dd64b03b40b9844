"""Profiles a regression: one more run of each side, not measured, under the framework's own profiler."""

from dataclasses import replace

from pytest_dlbench.judging.operators import operator_changes
from pytest_dlbench.records import CaseResult, Run, RunOutcome
from pytest_dlbench.records.problems import Problem
from pytest_dlbench.records.reasons import NotProfiled, Profiled
from pytest_dlbench.running.hosts.host import Host, MachineLostError
from pytest_dlbench.running.run_hooks import NO_HOOKS
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec, kind, trains_network
from pytest_dlbench.running.waits import DeviceBusyError
from pytest_dlbench.workflows.session import Session

# All of them also run once before they are profiled, so that code is compiled and caches are warm.
STEPS = 10


def profiled(session: Session, baseline: RunSpec, candidate: RunSpec, result: CaseResult) -> CaseResult:
    """The result with the operators that changed most, or with the reason why they are unknown."""
    # No profiler is known for a program, whose framework is its own affair.
    if not trains_network(candidate):
        return replace(result, reasons=(*result.reasons, NotProfiled(problem="", purpose=kind(candidate))))
    try:
        with session.hosts.lease((baseline, candidate), session.progress) as host:
            runs = [_profile(host, spec) for spec in host.specs]
    except (MachineLostError, DeviceBusyError) as error:
        return _not_profiled(result, error.problem)
    if unfinished := next((run for run in runs if run.outcome is not RunOutcome.FINISHED), None):
        return _not_profiled(result, unfinished.problem, unfinished.message.partition("\n")[0])
    found = operator_changes(*(run.operator_seconds for run in runs))
    return replace(result, reasons=(*result.reasons, Profiled()), operators=found)


def _not_profiled(result: CaseResult, problem: Problem | None, said: str = "") -> CaseResult:
    return replace(result, reasons=(*result.reasons, NotProfiled(problem=said, run_problem=problem)))


def _profile(host: Host, spec: RunSpec) -> Run:
    assert isinstance(spec, NetworkSpec)
    profiled = replace(spec, steps=min(STEPS, spec.steps), is_profiled=True, evaluate_after=(), is_saved=False)
    return host.train(profiled, 0, NO_HOOKS)
