"""A case run against itself, then against itself with planted faults: what the gate makes of both."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import calibration
from pytest_dlbench.judging.metrics import of_purpose
from pytest_dlbench.judging.pairs import Pair, paired_tolerances, rules
from pytest_dlbench.judging.reasons import unfinished
from pytest_dlbench.judging.two_stage import Terms, judge, terms_of
from pytest_dlbench.model import infer
from pytest_dlbench.records import Calibration, Case, Fault, VerdictOutcome
from pytest_dlbench.records.reasons import NoDropout, NotTried, Reason, Unavailable
from pytest_dlbench.running.pairs import InvalidError, UnfinishedError
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.recording import reference_runs
from pytest_dlbench.workflows.runs import next_of, pairs_of
from pytest_dlbench.workflows.session import Session

# Times as long; the largest first, for what is smaller than one that is not found would not be found either.
SLOWDOWNS = (0.10, 0.05, 0.02, 0.01)
LABEL = "calibration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """The new side with a fault, and the tolerances by which it is looked for; or why there is none."""

    name: str
    spec: RunSpec | None = None
    tolerances: Mapping[str, float]
    impossible: NoDropout | None = None


def against_itself(session: Session, spec: RunSpec, terms: Terms, pairs: int) -> Calibration:
    """The case as the gate would judge it, and then so many pairs that its spread is known.

    Raises UnfinishedError and InvalidError.
    """
    both, alpha = pairs_of(session, spec, spec, max(pairs, terms.max_pairs)), _alpha(session, terms)
    with both.alone():
        found = judge(lambda: next_of(both), terms, lambda: alpha)
        while len(both.new_first) < pairs:
            both.next()
    used = [Pair(old=old, new=new) for old, new in zip(both.runs["old"], both.runs["new"], strict=True)]
    full = {
        name: replace(rule, alpha=alpha)
        for name, rule in rules(terms.tolerances, terms.metrics, max_pairs=terms.max_pairs).items()
    }
    spreads = calibration.spreads(calibration.in_order(used, both.new_first), [terms.metrics[name] for name in full])
    return Calibration(
        case=_plain(spec),
        context=session.settings.context(spec),
        versions=used[0].new.versions,
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


def _alpha(session: Session, terms: Terms) -> float:
    """What each metric may err with: the session's budget in equal shares, for a case is judged as if it were alone."""
    return session.policy.false_alarms / len(terms.tolerances)


def _plain(spec: RunSpec) -> Case:
    return replace(spec.case, id=spec.case.id.replace(LABEL, "training", 1))


def faults(spec: RunSpec, accuracy: float) -> Iterator[Planted]:
    """Every fault there is for a case; those of learning are looked for with this tolerance of the accuracy."""
    for share in SLOWDOWNS:
        # Twice the tolerance is what the rule finds surely.
        slower = _named(replace(spec, slowdown=share), f"slower{100 * share:g}")
        yield Planted(name=f"{100 * share:g} % slower", spec=slower, tolerances={"step_time": share / 2})
    optimizer = spec.recipe.optimizer
    halved = replace(optimizer, learning_rate=optimizer.learning_rate / 2)
    slow_learner = _named(replace(spec, recipe=replace(spec.recipe, optimizer=halved)), "half_rate")
    yield Planted(name="half the learning rate", spec=slow_learner, tolerances={"accuracy": accuracy})
    network = infer(spec.network.model.without_dropout())
    if network.digest == spec.network.digest:
        impossible = NoDropout(model=spec.case.model)
        yield Planted(name="dropout off", tolerances={"accuracy": accuracy}, impossible=impossible)
    else:
        open_network = _named(replace(spec, network=network), "no_dropout")
        yield Planted(name="dropout off", spec=open_network, tolerances={"accuracy": accuracy})


def _named(spec: RunSpec, name: str) -> RunSpec:
    return replace(spec, case=replace(spec.case, id=spec.case.id.replace(LABEL, f"{LABEL}_{name}", 1)))


def look_for(session: Session, spec: RunSpec, planted: Planted, terms: Terms) -> Fault:
    """Whether the gate finds a fault, and with how many pairs."""
    if planted.spec is None:
        return Fault(name=planted.name, not_planted=planted.impossible)
    pairs = pairs_of(session, spec, planted.spec, terms.max_pairs)
    own = replace(terms, tolerances=paired_tolerances(planted.tolerances))
    alpha = _alpha(session, terms)
    with pairs.alone():
        try:
            found = judge(lambda: next_of(pairs), own, lambda: alpha)
        except UnfinishedError as error:
            return Fault(name=planted.name, not_planted=unfinished(error.run))
        except InvalidError as error:
            return Fault(name=planted.name, not_planted=reasons.invalid_pair(error, session.settings.repeats))
    # Of the metric that it was planted in: what is said beside it may be the machine's.
    (telling,) = (verdict for verdict in found.verdicts if verdict.metric in planted.tolerances)
    return Fault(
        name=planted.name,
        outcome=telling.outcome,
        pairs=len(found.screened) + len(found.confirmed),
        verdict=telling,
        reason=found.decisions[telling.metric].reason.value,
    )


def is_found(fault: Fault) -> bool:
    """Whether the gate says that something changed: of a slowdown, that it is worse."""
    found = (
        {VerdictOutcome.REGRESSED} if "slower" in fault.name else {VerdictOutcome.REGRESSED, VerdictOutcome.IMPROVED}
    )
    return fault.outcome in found


def calibrate(
    session: Session, spec: RunSpec, terms: Terms, pairs: int, keep: Callable[[Calibration], None]
) -> Calibration:
    """The whole of a case; ``keep`` has what is known so far after every part of it."""
    found = against_itself(session, spec, terms, pairs)
    keep(found)
    missed = ""
    for planted in faults(spec, terms.tolerances["accuracy"]):
        if missed and planted.spec is not None and planted.spec.slowdown:
            fault = Fault(name=planted.name, not_planted=NotTried(missed=missed))
        else:
            fault = look_for(session, spec, planted, terms)
            if planted.spec is not None and planted.spec.slowdown and not is_found(fault):
                missed = planted.name
        found = replace(found, faults=(*found.faults, fault))
        keep(found)
    return found


def attempt(
    session: Session, spec_of: Callable[[], RunSpec], pairs: int, keep: Callable[[Calibration], None]
) -> Reason | None:
    """Calibrate a case; gives why that could not be done, if it could not."""
    try:
        spec = spec_of()
        if isinstance(spec.place, Absent):
            return Unavailable(problem=spec.place.reason)
        metrics = session.settings.metrics
        tolerances = paired_tolerances(of_purpose(session.policy.tolerances, spec.purpose, metrics))
        terms = terms_of(tolerances, session.policy.max_pairs, reference_runs(session, spec), metrics)
        calibrate(session, spec, terms, pairs, keep)
    except UnfinishedError as error:
        return unfinished(error.run)
    except InvalidError as error:
        return reasons.invalid_pair(error, session.settings.repeats)
    except DlbenchError as error:
        return Unavailable(problem=str(error))
    return None
