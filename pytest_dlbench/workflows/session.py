"""The state that all cases of a session share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import Case, CaseResult, Context, Record
from pytest_dlbench.running.hosts.host import Hosts
from pytest_dlbench.running.hosts.local import THIS_MACHINE
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.sampling.sampler import MakeSampler
from pytest_dlbench.storing import BaselineStore, Journal
from pytest_dlbench.storing.certificates import CertificateStore
from pytest_dlbench.storing.resuming import FinishedRuns
from pytest_dlbench.workflows.baseline_gate import Comparer
from pytest_dlbench.workflows.claims import Claims
from pytest_dlbench.workflows.false_alarms import FalseAlarmBudget
from pytest_dlbench.workflows.resumption import Resumption
from pytest_dlbench.workflows.settings import GatePolicy, Storage
from pytest_dlbench.workflows.time_budget import TimeBudget
from pytest_dlbench.workflows.validity import Examiner


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertified:
    """A case that was trained before any certificate held for it.

    ``network_digest`` is that of its network without dropout, ``versions`` are those that can change what is computed.
    """

    case: Case
    context: Context
    network_digest: str
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The context of the use cases: settings, storage, and the remaining budgets.

    ``repeat_flags`` are the flags of a command that repeats a case.
    """

    settings: RunSettings
    policy: GatePolicy
    storage: Storage
    journal: Journal
    comparer: Comparer
    certificates: CertificateStore
    progress: Progress
    false_alarms: FalseAlarmBudget
    time: TimeBudget
    repeat_flags: tuple[str, ...] = ()
    samplers: tuple[MakeSampler, ...] = ()
    hosts: Hosts = THIS_MACHINE
    """Where its runs are made."""
    examiner: Examiner = field(default_factory=Examiner)
    claims: Claims = field(default_factory=Claims)
    resumption: Resumption
    unsaved: dict[str, list[tuple[Record, CaseResult]]] = field(default_factory=dict)
    """By test: the cases that become baselines if it passes."""
    uncertified: list[Uncertified] = field(default_factory=list)


def open_session(
    settings: RunSettings,
    policy: GatePolicy,
    storage: Storage,
    progress: Progress,
    *,
    hosts: Hosts = THIS_MACHINE,
    repeat_flags: Sequence[str] = (),
    samplers: Sequence[MakeSampler] = (),
    worker: str = "",
    workers: int = 1,
    tests: int = 1,
    cases: int = 1,
    name: str = "",
    resumed: Path | None = None,
) -> Session:
    """A session that begins now. ``worker`` is the name of the pytest-xdist worker, one of ``workers``; empty without.

    ``tests`` is how many tests of the session run in pairs, ``cases`` how many it has in total. ``name`` is common to
    all of its processes. ``resumed`` is the journal of an interrupted session that it goes on with.
    """
    recorded = FinishedRuns.of(resumed) if resumed else FinishedRuns()
    return Session(
        settings=settings,
        policy=policy,
        storage=storage,
        repeat_flags=tuple(repeat_flags),
        journal=Journal.at(resumed, name) if resumed else Journal(storage.journals, worker, name),
        comparer=_comparer(settings, policy, storage, repeat_flags=repeat_flags, resumed=resumed, cases=cases),
        certificates=CertificateStore(folder=storage.journals / "certificates"),
        progress=progress,
        false_alarms=FalseAlarmBudget(share=policy.false_alarms, tests=max(1, tests), workers=workers),
        time=TimeBudget(seconds=policy.budget_seconds, tests=tests, workers=workers),
        samplers=tuple(samplers),
        hosts=hosts,
        examiner=_examiner(settings, hosts),
        resumption=Resumption(settings=settings, samplers=tuple(map(_name, samplers)), recorded=recorded),
    )


def _examiner(settings: RunSettings, hosts: Hosts) -> Examiner:
    gpu = "".join(settings.machine.gpus[:1])
    return Examiner(probe=hosts.speed, variation=hosts.core_variation, gpu=gpu, metrics=settings.metrics)


def _comparer(
    settings: RunSettings,
    policy: GatePolicy,
    storage: Storage,
    *,
    repeat_flags: Sequence[str],
    resumed: Path | None,
    cases: int,
) -> Comparer:
    return Comparer(
        reason=policy.reason,
        repeat_flags=tuple(repeat_flags),
        history=storage.history,
        baselines=BaselineStore(folder=storage.baselines),
        metrics=settings.metrics,
        is_resumed=resumed is not None,
        cases=max(1, cases),
    )


def _name(sampler: MakeSampler) -> str:
    return getattr(sampler, "__qualname__", type(sampler).__qualname__)
