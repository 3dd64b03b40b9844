"""Runs of a session, alone and in pairs: each sampled, validated, and in the journal before the next starts."""

from pytest_dlbench.judging.pairs import Pair
from pytest_dlbench.judging.sanity import suspicion
from pytest_dlbench.records import Run, StepCheck
from pytest_dlbench.running.pairs import Pairs
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.series import train_series
from pytest_dlbench.storing import Entry
from pytest_dlbench.workflows.session import Session


def make_runs(session: Session, spec: RunSpec, runs: int, repeats: int = 0, first: int = 0) -> tuple[Run, ...]:
    """Fresh runs of a case; invalid ones are done again, ``repeats`` times in all."""
    return train_series(
        spec,
        runs,
        hooks=_hooks(session, spec),
        keep=lambda run: _keep(session, spec, run),
        progress=session.progress,
        examine=lambda run: session.examiner.examine(spec, run),
        repeats=repeats,
        first=first,
    )


def pairs_of(session: Session, old: RunSpec, new: RunSpec, limit: int) -> Pairs:
    """Pairs of two sides; progress shows ``limit`` as their number."""
    return Pairs(
        old=old,
        new=new,
        # The same for both sides, which are on one device.
        hooks=_hooks(session, new),
        keep=lambda spec, run: _keep(session, spec, run),
        progress=session.progress,
        limit=limit,
        examine=session.examiner.examine,
        repeats=session.settings.repeats,
        keeps_invalid=session.settings.keeps_invalid,
    )


def next_of(pairs: Pairs) -> Pair:
    """One more pair; raises UnfinishedError and InvalidError."""
    old, new = pairs.next()
    return Pair(old=old, new=new)


def _hooks(session: Session, spec: RunSpec) -> RunHooks:
    """The session's samplers; steps are taken again to see whether they are what they seem."""

    def is_suspicious(check: StepCheck) -> bool:
        return bool(suspicion(check, spec.case.device))

    # A run that is evaluated twice is held against golden losses, which show more.
    is_checked = spec.is_timed and spec.evaluations == 1
    return RunHooks(samplers=session.samplers, is_suspicious=is_suspicious if is_checked else None)


def _keep(session: Session, spec: RunSpec, run: Run) -> None:
    """A run as it ended, on the disk when this returns."""
    session.journal.append(Entry(run=run, context=session.settings.context(spec)))
