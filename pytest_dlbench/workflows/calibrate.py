"""Calibrates the gate: a case runs in pairs with itself, then with planted faults, and the gate judges both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import calibration
from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.metrics import of_purpose
from pytest_dlbench.judging.pairs import Pair, StepSpread, design_of, rules
from pytest_dlbench.judging.reasons import unfinished
from pytest_dlbench.judging.sequential import Rule
from pytest_dlbench.judging.terms import Terms, terms_of
from pytest_dlbench.judging.two_stage import judge
from pytest_dlbench.model import infer
from pytest_dlbench.records import Calibration, Case, Fault, Run, VerdictOutcome
from pytest_dlbench.records.reasons import NoDropout, NotTried, Reason, Unavailable
from pytest_dlbench.running import alternating
from pytest_dlbench.running.pairs import BASELINE, CANDIDATE, InvalidError, UnfinishedError
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.false_alarms import FalseAlarmBudget
from pytest_dlbench.workflows.lengths import decided
from pytest_dlbench.workflows.recording import reference_runs
from pytest_dlbench.workflows.runs import next_of, pairs_of
from pytest_dlbench.workflows.session import Session

S = TypeVar("S", bound=RunSpec)

# Shares of a step's time, the largest first: if one is missed, smaller ones would be missed too.
SLOWDOWNS = (0.10, 0.05, 0.02, 0.01)
LABEL = "calibration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A candidate with a fault and the tolerances that it is judged by, or the reason why the case cannot have it."""

    name: str
    spec: RunSpec | None = None
    tolerances: Mapping[str, float]
    not_planted: NoDropout | None = None


def against_itself(session: Session, spec: RunSpec, terms: Terms, pairs: int) -> Calibration:
    """Judge the case as the gate would, then continue to ``pairs`` pairs to measure its spread.

    Raises UnfinishedError and InvalidError.
    """
    both, alpha = pairs_of(session, spec, spec, max(pairs, terms.max_pairs)), _alpha(session)
    with both.alone():
        found = judge(lambda: next_of(both), terms, lambda: alpha, begin_pass=both.begin_pass)
        while len(both.candidate_first) < pairs:
            both.next()
    used = [Pair(old=old, new=new) for old, new in zip(both.runs[BASELINE], both.runs[CANDIDATE], strict=True)]
    full = _rules_of([*both.runs[BASELINE], *both.runs[CANDIDATE]], terms, alpha)
    spreads = calibration.spreads(used, both.candidate_first, [terms.metrics[name] for name in full])
    return Calibration(
        case=_plain(spec),
        context=session.settings.context(spec),
        versions=used[0].new.versions,
        design=design_of(used),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        alpha=alpha,
        max_pairs=terms.max_pairs,
        pairs=len(used),
        spreads=spreads,
        smallest={
            name: calibration.smallest(terms.metrics[name], spread, alpha=alpha, max_pairs=terms.max_pairs)
            for name, spread in spreads.items()
        },
        verdicts=found.verdicts,
        exchanged={
            name: calibration.false_alarms(
                calibration.differences(terms.metrics[name], used), spreads[name], rule, session.settings.seed
            )
            for name, rule in full.items()
        },
    )


def _rules_of(runs: Sequence[Run], terms: Terms, alpha: float) -> Mapping[str, Rule]:
    """The rule of every metric that all runs have: a program may report no accuracy, for example."""
    of_metrics = rules({**terms.reported, **terms.tolerances}, terms.metrics, max_pairs=terms.max_pairs)
    return {
        name: replace(rule, alpha=alpha)
        for name, rule in of_metrics.items()
        if len(terms.metrics[name].values(runs)) == len(runs)
    }


def _alpha(session: Session) -> float:
    """The level of a confirmation: that of the first flagged metric, if this is the only case of its session.

    Of a budget that is too small for any, it is the smallest level: the gate would confirm nothing.
    """
    return FalseAlarmBudget(share=session.policy.false_alarms).levels(LABEL)() or LEAST_ALPHA


def _plain(spec: RunSpec) -> Case:
    return replace(spec.case, id=spec.case.id.removeprefix(f"{LABEL}-"))


def faults(spec: RunSpec, accuracy: float) -> Iterator[Planted]:
    """All faults for a case; ``accuracy`` is the tolerance that the faults in learning are judged by."""
    for share in SLOWDOWNS:
        # The rule reliably detects a change of twice the tolerance.
        slower = _named(replace(spec, slowdown=share), f"slower{100 * share:g}")
        yield Planted(name=f"{100 * share:g} % slower", spec=slower, tolerances={"step_time": share / 2})
    if isinstance(spec, NetworkSpec):
        yield from _faults_of_learning(spec, accuracy)


def _faults_of_learning(spec: NetworkSpec, accuracy: float) -> Iterator[Planted]:
    """What makes a network learn less; a program's learning is its own."""
    optimizer = spec.recipe.optimizer
    halved = replace(optimizer, learning_rate=optimizer.learning_rate / 2)
    slow_learner = _named(replace(spec, recipe=replace(spec.recipe, optimizer=halved)), "half_rate")
    yield Planted(name="half the learning rate", spec=slow_learner, tolerances={"accuracy": accuracy})
    network = infer(spec.network.model.without_dropout())
    if network.digest == spec.network.digest:
        reason = NoDropout(model=spec.case.model)
        yield Planted(name="dropout off", tolerances={"accuracy": accuracy}, not_planted=reason)
    else:
        without_dropout = _named(replace(spec, network=network), "no_dropout")
        yield Planted(name="dropout off", spec=without_dropout, tolerances={"accuracy": accuracy})


def _apart(spec: S) -> S:
    """The spec under a name by which the runs of a calibration are not those of its case."""
    return replace(spec, case=replace(spec.case, id=f"{LABEL}-{spec.case.id}"))


def _named(spec: S, name: str) -> S:
    return replace(spec, case=replace(spec.case, id=spec.case.id.replace(LABEL, f"{LABEL}_{name}", 1)))


def detect(session: Session, spec: RunSpec, planted: Planted, terms: Terms) -> Fault:
    """Whether the gate detects a fault, and with how many pairs."""
    if planted.spec is None:
        return Fault(name=planted.name, not_planted=planted.not_planted)
    pairs = pairs_of(session, spec, planted.spec, terms.max_pairs)
    own = replace(terms, tolerances=planted.tolerances, reported={})
    alpha = _alpha(session)
    with pairs.alone():
        try:
            found = judge(lambda: next_of(pairs), own, lambda: alpha, begin_pass=pairs.begin_pass)
        except UnfinishedError as error:
            return Fault(name=planted.name, not_planted=unfinished(error.run))
        except InvalidError as error:
            return Fault(name=planted.name, not_planted=reasons.invalid_pair(error, session.settings.repeats))
    # Only the metric that the fault was planted in counts: other verdicts may be noise of the machine.
    (expected,) = (verdict for verdict in found.verdicts if verdict.metric in planted.tolerances)
    return Fault(
        name=planted.name,
        outcome=expected.outcome,
        pairs=len(found.screened) + len(found.confirmed),
        verdict=expected,
        reason=found.decisions[expected.metric].reason,
    )


def is_detected(fault: Fault) -> bool:
    """Whether the gate reported a change; a slowdown must be reported as a regression."""
    expected = (
        {VerdictOutcome.REGRESSED} if "slower" in fault.name else {VerdictOutcome.REGRESSED, VerdictOutcome.IMPROVED}
    )
    return fault.outcome in expected


def calibrate(
    session: Session, spec: RunSpec, terms: Terms, pairs: int, keep: Callable[[Calibration], None]
) -> Calibration:
    """Calibrate a case; after each part, ``keep`` gets the results so far.

    Faults are planted in trainings: inference and operators have no steps to slow down, and nothing to learn.
    """
    spec = decided(session, spec)
    found = against_itself(session, spec, terms, pairs)
    keep(found)
    missed = ""
    for planted in faults(spec, terms.tolerances["accuracy"]) if spec.purpose == "training" else ():
        if missed and planted.spec is not None and planted.spec.slowdown:
            fault = Fault(name=planted.name, not_planted=NotTried(missed=missed))
        else:
            fault = detect(session, spec, planted, terms)
            if planted.spec is not None and planted.spec.slowdown and not is_detected(fault):
                missed = planted.name
        found = replace(found, faults=(*found.faults, fault))
        keep(found)
    return found


def attempt(
    session: Session, spec_of: Callable[[], RunSpec], pairs: int, keep: Callable[[Calibration], None]
) -> Reason | None:
    """Calibrate a case; returns the reason if that failed, else None."""
    try:
        spec = _apart(spec_of())
        if isinstance(spec.place, Absent):
            return Unavailable(problem=spec.place.reason)
        metrics = session.settings.metrics
        tolerances = of_purpose(session.policy.tolerances, spec.purpose, metrics)
        steps = StepSpread() if alternating.obstacle(spec) is None else None
        terms = terms_of(tolerances, session.policy.max_pairs, reference_runs(session, spec), metrics, steps=steps)
        calibrate(session, spec, terms, pairs, keep)
    except UnfinishedError as error:
        return unfinished(error.run)
    except InvalidError as error:
        return reasons.invalid_pair(error, session.settings.repeats)
    except DlbenchError as error:
        return Unavailable(problem=str(error))
    return None
