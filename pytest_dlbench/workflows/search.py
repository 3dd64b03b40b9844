"""Searches for a network with a budget of processor time: one trial after the other, each in a fresh worker."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from statistics import median

from pytest_dlbench import judging
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.judging.readings import processor_seconds, winner_accuracy
from pytest_dlbench.judging.reasons import unfinished
from pytest_dlbench.planning.search_plan import Point, SearchPlan
from pytest_dlbench.records import CaseOutcome, CaseResult, Record, Run, RunOutcome, Search, Trial
from pytest_dlbench.records.problems import NothingFound
from pytest_dlbench.records.searches import SearchEnd, TrialOutcome, curve_of
from pytest_dlbench.running.failures import End
from pytest_dlbench.running.interrupts import undisturbed
from pytest_dlbench.running.training import not_run
from pytest_dlbench.storing import Entry
from pytest_dlbench.workflows.baseline_gate import result
from pytest_dlbench.workflows.engines import engine_of
from pytest_dlbench.workflows.recording import conclude
from pytest_dlbench.workflows.runs import make_runs
from pytest_dlbench.workflows.session import Session

# Trials that cost no time, because a framework lacks their layers, would never use up a budget.
MOST_TRIALS, MOST_FAILURES = 1000, 20


@dataclass(slots=True)
class _Progress:
    """The trials of one search so far, and what they cost."""

    budget_seconds: float
    trials: list[Trial] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    @property
    def left_seconds(self) -> float:
        return self.budget_seconds - (self.trials[-1].cpu_total if self.trials else 0.0)

    @property
    def ended(self) -> SearchEnd | None:
        """Why no further trial is begun; None if one is."""
        costs = [trial.cpu_seconds for trial in self.trials if trial.outcome == "finished"]
        is_cut = bool(self.trials) and self.trials[-1].outcome == "over_budget"
        if is_cut or self.left_seconds <= (median(costs) if costs else 0.0):
            return "budget"
        if len(self.trials) >= MOST_TRIALS:
            return "trials"
        last = self.trials[-MOST_FAILURES:]
        return "failures" if len(last) == MOST_FAILURES and all(one.outcome == "failed" for one in last) else None

    def add(self, point: Point, run: Run) -> Trial:
        """Take the run of a trial."""
        cost, before = processor_seconds(run), self.trials[-1] if self.trials else None
        total = cost + (before.cpu_total if before else 0.0)
        is_cut = run.outcome is RunOutcome.TIMEOUT and run.wall_seconds >= self.left_seconds
        outcome = _outcome(run, is_over=is_cut or total > self.budget_seconds)
        trial = Trial(
            case=run.case,
            settings=point.settings,
            outcome=outcome,
            run_outcome=run.outcome,
            cpu_seconds=cost,
            wall_seconds=run.wall_seconds,
            cpu_total=total,
            wall_total=run.wall_seconds + (before.wall_total if before else 0.0),
            accuracy=winner_accuracy(run),
            message=run.message,
            problem=run.problem,
        )
        self.trials.append(trial)
        self.points.append(point)
        return trial

    @property
    def winner(self) -> int | None:
        """The number of the best trial within the budget, the first of several."""
        counted = [number for number, trial in enumerate(self.trials) if trial.outcome == "finished"]
        return max(counted, key=lambda number: self.trials[number].accuracy or 0.0, default=None)


def _outcome(run: Run, *, is_over: bool) -> TrialOutcome:
    if is_over:
        return "over_budget"
    return "finished" if run.outcome is RunOutcome.FINISHED and winner_accuracy(run) is not None else "failed"


def search(session: Session, plan: SearchPlan, node: str, seeds: Sequence[int]) -> tuple[Record, CaseResult]:
    """Search once with every seed; every run is in the journal at once. The result is not judged."""
    session.claims.claim(plan.first, node)
    if isinstance(plan.first.place, Absent):
        runs = make_runs(session, plan.first, 1)
    else:
        runs = tuple(_searched(session, plan, seed, index) for index, seed in enumerate(seeds))
    record = Record(
        case=plan.first.case,
        context=plan.context,
        recipe=plan.recipe,
        runs=runs,
        metrics=judging.facts(session.settings.metrics),
    )
    judged = _result(record)
    conclude(session, record, judged)
    return record, judged


def _result(record: Record) -> CaseResult:
    outcome = judging.of_runs(record.runs)
    if outcome is None:
        return result(record, CaseOutcome.PASSED)
    failed = next(run for run in record.runs if run.outcome is not RunOutcome.FINISHED)
    return result(record, outcome, unfinished(failed))


def _searched(session: Session, plan: SearchPlan, seed: int, index: int) -> Run:
    """The run of the best trial's network on all of the training part, with the search that found it."""
    with closing(engine_of(plan, seed)) as engine:
        found = _Progress(plan.budget_seconds)
        while not (ended := found.ended):
            point = engine.ask()
            (run,) = make_runs(session, plan.trial(point, seed, len(found.trials), found.left_seconds), 1)
            trial = found.add(point, run)
            engine.tell(trial.accuracy if trial.outcome == "finished" else None)
        whole = Search(
            engine=plan.engine,
            space=plan.space,
            budget_seconds=plan.budget_seconds,
            trials=tuple(found.trials),
            winner=found.winner,
            ended=ended,
            curve=tuple(curve_of(tuple(found.trials))),
        )
        made = _winner(session, plan, seed, whole, found.points)
    run = replace(made, case=plan.first.case.id, index=index, seed=seed, search=whole)
    with undisturbed():
        session.journal.append(Entry(run=run, context=plan.context))
    return run


def _winner(session: Session, plan: SearchPlan, seed: int, found: Search, points: Sequence[Point]) -> Run:
    if found.winner is not None:
        (run,) = make_runs(session, plan.winner(points[found.winner], seed), 1)
        return run
    last = found.trials[-1]
    assert not isinstance(last.problem, NothingFound)
    nothing = NothingFound(
        seed=seed,
        trials=len(found.trials),
        budget_seconds=found.budget_seconds,
        outcome=last.run_outcome,
        problem=last.problem,
        said=last.message,
    )
    return not_run(plan.first, 0, End(outcome=RunOutcome.FAILED, problem=nothing))
