"""Decides how many steps a case trains, once for all of its runs and for both sides of its pairs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pytest_dlbench import judging
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.planning import lengths
from pytest_dlbench.records import Context, Length
from pytest_dlbench.running.hosts.host import MachineLostError
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec
from pytest_dlbench.running.waits import DeviceBusyError
from pytest_dlbench.storing.consecutive import newest_context
from pytest_dlbench.workflows.session import Session

SIDE = "how long do steps take"


def decided(session: Session, spec: RunSpec) -> RunSpec:
    """The spec with its number of steps; as it is if that does not depend on time.

    A stored baseline or an earlier session of this machine has it; otherwise a probe finds it. If the probe does not
    come to its end, neither will the runs, which say why.
    """
    if not isinstance(spec, NetworkSpec) or not spec.least_seconds or isinstance(spec.place, Absent):
        return spec
    return next(_known(session, spec), None) or _probed(session, spec)


def decided_pair(session: Session, baseline: RunSpec, candidate: RunSpec) -> tuple[RunSpec, RunSpec]:
    """Both sides with the number of steps that is decided for the baseline."""
    found = decided(session, baseline)
    if not isinstance(baseline, NetworkSpec) or not isinstance(candidate, NetworkSpec):
        return found, candidate
    assert isinstance(found, NetworkSpec)
    return found, lengths.alike(candidate, baseline, found)


def _known(session: Session, spec: NetworkSpec) -> Iterator[NetworkSpec]:
    """With the number of steps of the case's baseline, then of its newest run in a journal."""
    for source, context in _contexts(session, spec):
        if context and spec.steps <= context.steps <= lengths.limit(spec):
            yield lengths.lengthened(spec, context.steps, Length(least_seconds=spec.least_seconds, source=source))


def _contexts(session: Session, spec: NetworkSpec) -> Iterator[tuple[Literal["baseline", "journal"], Context | None]]:
    now = session.settings.context(spec)

    def is_alike(then: Context) -> bool:
        return not judging.obstacles(replace(then, steps=now.steps), now)

    try:
        stored = session.comparer.baselines.read(spec.case, now.machine)
    except FileFormatError:
        # The comparison will report it.
        stored = None
    yield "baseline", stored.context if stored and is_alike(stored.context) else None
    journals = session.storage.journals, session.journal.path
    yield "journal", newest_context(*journals, spec.case.id, is_alike)


def _probed(session: Session, spec: NetworkSpec) -> NetworkSpec:
    session.progress.run_started(spec.case, 0, session.settings.runs, SIDE)
    hooks = RunHooks(phase_began=session.progress.phase_began)
    try:
        with session.hosts.lease((spec,), session.progress) as host:
            (leased,) = host.specs
            assert isinstance(leased, NetworkSpec)
            run = host.train(lengths.probing(leased), 0, hooks)
    except (MachineLostError, DeviceBusyError):
        return spec
    return lengths.probed(spec, run.training) if run.training else spec
