"""The runs of a session, single or in pairs: each is sampled, validated and journaled before the next starts."""

import hashlib
from collections.abc import Sequence
from uuid import uuid4

from pytest_dlbench.judging.pairs import Pair
from pytest_dlbench.judging.sanity import suspicion
from pytest_dlbench.records import CallCheck, Run, StepCheck
from pytest_dlbench.running.interrupts import undisturbed
from pytest_dlbench.running.pairs import Pairs
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec
from pytest_dlbench.running.series import train_series
from pytest_dlbench.storing import Entry
from pytest_dlbench.workflows.session import Session


def make_runs(
    session: Session, spec: RunSpec, runs: int, repeats: int = 0, *, first: int = 0, made: list[Run] | None = None
) -> tuple[Run, ...]:
    """Fresh runs of a case; invalid ones are repeated, at most ``repeats`` times in total.

    ``made`` gets every run at once: if the session is interrupted, nothing is returned.
    """

    def keep(run: Run) -> None:
        with undisturbed():
            _keep(session, spec, run)
            if made is not None:
                made.append(run)

    def recorded(index: int) -> Run | None:
        if known := session.resumption.take(spec, index):
            session.examiner.remember(spec, known)
        return known

    return train_series(
        spec,
        runs,
        hooks=_hooks(session, spec),
        keep=keep,
        progress=session.progress,
        examine=session.examiner.examine,
        repeats=repeats,
        first=first,
        recorded=recorded,
        hosts=session.hosts,
    )


def pairs_of(session: Session, baseline: RunSpec, candidate: RunSpec, limit: int) -> Pairs:
    """Pairs of a baseline and a candidate; progress shows ``limit`` as their number."""

    def recorded(specs: Sequence[RunSpec], index: int) -> tuple[Run, Run] | None:
        known = session.resumption.take_pair(specs, index)
        for spec, run in zip(specs, known or (), strict=False):
            session.examiner.remember(spec, run)
        return known

    return Pairs(
        baseline=baseline,
        candidate=candidate,
        # The same for both sides, which are on one device.
        hooks=_hooks(session, candidate),
        keep=lambda spec, run: _keep(session, spec, run),
        progress=session.progress,
        limit=limit,
        examine=session.examiner.examine,
        repeats=session.settings.repeats,
        keeps_invalid=session.settings.keeps_invalid,
        recorded=recorded,
        order_seed=_order_seed(session, baseline, candidate),
        hosts=session.hosts,
    )


def _order_seed(session: Session, *sides: RunSpec) -> int:
    """Another one in each session, but the same where a session goes on after an interruption."""
    text = " ".join([session.journal.session or uuid4().hex, *(side.case.id for side in sides)])
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def next_of(pairs: Pairs) -> Pair:
    """One more pair; raises UnfinishedError and InvalidError."""
    baseline, candidate = pairs.next()
    return Pair(old=baseline, new=candidate)


def _hooks(session: Session, spec: RunSpec) -> RunHooks:
    """The session's samplers, and the check that repeats steps to find out whether their times are plausible."""

    def is_suspicious(check: StepCheck | CallCheck) -> bool:
        return bool(suspicion(check, spec.case.device))

    # A run that is evaluated twice is compared with golden losses, a stronger check.
    is_certified = isinstance(spec, NetworkSpec) and spec.evaluations > 1
    is_checked = spec.is_timed and not is_certified
    return RunHooks(samplers=session.samplers, is_suspicious=is_suspicious if is_checked else None)


def _keep(session: Session, spec: RunSpec, run: Run) -> None:
    """Append a run to the journal; it is on disk when this returns."""
    conditions = session.resumption.conditions(spec)
    with undisturbed():
        session.journal.append(Entry(run=run, context=session.settings.context(spec), conditions=conditions))
