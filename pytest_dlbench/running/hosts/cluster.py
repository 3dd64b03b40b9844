"""Runs on leased hosts of a cluster, each made by a process on its host that the driver talks to."""

import fcntl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any, Protocol

from pytest_dlbench.environments.placing import Absent, Lack, Place
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import Machine, MachineSpeed, codec
from pytest_dlbench.records.reasons import ProblemError
from pytest_dlbench.running.hosts.conversation import Asked, Channel, Placed, line
from pytest_dlbench.running.hosts.greeting import greeted
from pytest_dlbench.running.hosts.host import MachineLostError
from pytest_dlbench.running.hosts.local import LocalHost
from pytest_dlbench.running.hosts.remote import Conversation, RemoteHost, speaking
from pytest_dlbench.running.hosts.spread import SpreadHost
from pytest_dlbench.running.lock_folder import InUseError, LockFolder
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.waits import DeviceBusyError, Patience, QueuedWait, Wait

# Sessions of one driver that each held one of two hosts would wait for each other's for ever.
SEVERAL = "several-hosts"
RETRY_SECONDS = 0.5


class Engine(Protocol):
    """What leases whole hosts, and starts a process on them."""

    def lease(self, patience: Patience, lost: frozenset[str]) -> AbstractContextManager[Channel]:
        """A process on a host that nobody else leases in this block, not on one of these lost nodes.

        Raises DeviceBusyError, and MachineLostError if there is no other host.
        """
        ...


class Cluster:
    """The hosts of an engine, which must be of one machine class: otherwise the free ones would decide the figures."""

    def __init__(self, engine: Engine, asked: Asked, wait_seconds: float, machine: Machine | None = None) -> None:
        self._engine, self._asked, self._wait_seconds, self._machine = engine, asked, wait_seconds, machine
        self._conversation: Conversation | None = None

    @property
    def machine(self) -> Machine:
        """That of the first host that is free; raises DlbenchError if there is none."""
        if self._machine is None:
            try:
                with self._greeted(Patience(waiting=lambda _: None, limit_seconds=self._wait_seconds), frozenset()):
                    pass
            except MachineLostError as error:
                raise ProblemError(error.problem) from error
            except DeviceBusyError as error:
                within = f"within {error.wait.limit_seconds:g} s"
                raise DlbenchError(f"{error.wait.device} did not become free {within} (--dlbench-wait)") from error
        assert self._machine is not None
        return self._machine

    @property
    def leased(self) -> str:
        """The host that is leased now."""
        return self._conversation.name if self._conversation else ""

    @contextmanager
    def lease(
        self, specs: Sequence[RunSpec], progress: Progress, lost: frozenset[str] = frozenset()
    ) -> Iterator[RemoteHost | SpreadHost | LocalHost]:
        """A whole host, on which the environments and the data of the specs are prepared; several if they say so."""
        if all(isinstance(spec.place, Absent) for spec in specs):
            yield LocalHost(specs=tuple(specs))
            return
        case = specs[-1].case
        patience = Patience(waiting=partial(progress.waiting, case), limit_seconds=specs[-1].wait_seconds)
        with self._several(patience, lost, specs[-1].hosts) as conversations:
            hosts = [self._prepared(conversation, specs, progress) for conversation in conversations]
            self._conversation = conversations[0]
            try:
                yield hosts[0] if len(hosts) == 1 else SpreadHost(hosts)
            finally:
                self._conversation = None

    def _prepared(self, conversation: Conversation, specs: Sequence[RunSpec], progress: Progress) -> RemoteHost:
        """The host of a conversation, with the environments and the data of the specs."""
        reply = conversation.ask(line("lease", tuple(specs), self._asked), partial(_shown, progress, specs[-1]))
        placed = codec.convert(reply["placed"], list[Placed], conversation.name)
        return RemoteHost(conversation, tuple(map(_on_host, specs, placed)))

    def speed(self, threads: int, precision: str) -> MachineSpeed | None:
        """That of the leased host; None if it is lost, which its next run reports."""
        found = self._measured(line("speed", threads=threads, precision=precision), "speed")
        return next(iter(codec.convert(found, list[MachineSpeed], self.leased)), None)

    def core_variation(self) -> float | None:
        """That of the leased host; None if it is lost."""
        found = self._measured(line("core_variation"), "core_variation")
        return next(iter(codec.convert(found, list[float], self.leased)), None)

    def _measured(self, request: bytes, name: str) -> Any:
        """What the leased host answers, in a list; an empty one if it is lost."""
        if self._conversation is None or self._conversation.is_lost:
            return []
        try:
            return self._conversation.ask(request, lambda _: None)[name]
        except MachineLostError:
            return []

    @contextmanager
    def _several(self, patience: Patience, lost: frozenset[str], count: int) -> Iterator[list[Conversation]]:
        """As many hosts, one after the other; raises MachineLostError if the cluster does not have as many."""
        found: list[Conversation] = []
        with ExitStack() as leased:
            with ExitStack() as turn:
                if count > 1:
                    _take_turn(turn, patience)
                while len(found) < count:
                    others = lost | {one.node for one in found}
                    try:
                        found.append(leased.enter_context(self._greeted(patience, others)))
                    except MachineLostError as error:
                        if lost or not found or error.host:
                            raise
                        asked = f"placement=spread: {count} workers need as many hosts, leased: {len(found)}"
                        said = f": {error.problem.said}" if error.problem.said else ""
                        raise DlbenchError(f"{asked}; there is no other{said}") from error
            yield found

    @contextmanager
    def _greeted(self, patience: Patience, lost: frozenset[str]) -> Iterator[Conversation]:
        with self._engine.lease(patience, lost) as channel, speaking(channel) as conversation:
            self._greet(conversation)
            yield conversation

    def _greet(self, conversation: Conversation) -> None:
        """Raise DlbenchError if the host cannot make runs of this session."""
        machine = greeted(conversation)
        self._machine = self._machine or machine
        if machine.name != self._machine.name:
            raise DlbenchError(
                f"{conversation.name}: its machine class is {machine.name}, that of this session's first host"
                f" {self._machine.name}: hosts of several classes cannot be compared, and the one that is free would"
                " decide; use a cluster of one class for a session"
            )


def _take_turn(turn: ExitStack, patience: Patience) -> None:
    """Wait until no other session of this machine collects several hosts, and keep others from it."""
    folder, waiting = turn.enter_context(LockFolder()), QueuedWait("several hosts of the cluster", patience)
    while True:
        try:
            folder.lock(turn, SEVERAL, fcntl.LOCK_EX)
        except InUseError:
            waiting.check()
            sleep(RETRY_SECONDS)
        else:
            return


def _shown(progress: Progress, spec: RunSpec, event: Mapping[str, Any]) -> None:
    match event["event"]:
        case "building":
            progress.building(event["name"], event["doing"])
        case "waiting":
            wait = codec.convert(event["wait"], Wait, "")
            progress.waiting(spec.case, replace(wait, limit_seconds=spec.wait_seconds))


def _on_host(spec: RunSpec, found: Placed) -> RunSpec:
    """The spec as the host has placed it."""
    if found.lack:
        return replace(spec, place=Absent(lack=Lack(found.lack), reason=found.reason))
    place = Place(
        python=Path(found.python),
        environment=found.environment,
        caches=Path(found.caches),
        variables=found.variables,
        requirements=found.requirements,
    )
    return replace(spec, place=place, gpu=found.gpu, cores=frozenset(found.cores))
