"""Runs on leased hosts of a cluster, each made by a process on its host that the driver talks to."""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, Protocol

import msgspec

from pytest_dlbench.environments.placing import Absent, Lack, Place
from pytest_dlbench.environments.requested import Packages
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import CallCheck, Machine, MachineSpeed, Run, StepCheck, codec
from pytest_dlbench.running.alternating import TooLittleMemoryError
from pytest_dlbench.running.hosts.conversation import (
    BEAT,
    BEAT_SECONDS,
    SILENCE_SECONDS,
    Asked,
    Channel,
    Greeting,
    Placed,
    ServerEndedError,
    line,
)
from pytest_dlbench.running.hosts.host import MachineLostError
from pytest_dlbench.running.hosts.local import LocalHost
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.waits import DeviceBusyError, Patience, Wait

Answer = Callable[[Mapping[str, Any]], Any]
# How long a host may take to end its process and what that started, before the lease is ended all the same.
END_SECONDS = 5.0
CHECKS: Mapping[str, type[StepCheck | CallCheck]] = {kind.__name__: kind for kind in (StepCheck, CallCheck)}


class Engine(Protocol):
    """What leases whole hosts, and starts a process on them."""

    def lease(self, patience: Patience, lost: frozenset[str]) -> AbstractContextManager[Channel]:
        """A process on a host that nobody else leases in this block, not on one of these lost nodes.

        Raises DeviceBusyError, and MachineLostError if there is no other host.
        """
        ...


class Conversation:
    """Requests to the process on a leased host, and its replies."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._heard = monotonic()
        self.is_lost = False

    @property
    def name(self) -> str:
        """The host."""
        return self._channel.name

    def ask(self, request: bytes, answer: Answer) -> dict[str, Any]:
        """The reply to a request; ``answer`` is called with each event, and its result returned if one is awaited.

        Raises MachineLostError, DeviceBusyError, and DlbenchError for what the host refuses.
        """
        self._channel.send(request)
        while True:
            message = self._next()
            if "event" in message:
                if (found := answer(message)) is not None:
                    self._channel.send(line("answer", answer=found))
            elif "busy" in message:
                raise DeviceBusyError(codec.convert(message["busy"], Wait, self.name))
            elif "refused" in message:
                raise DlbenchError(f"{self.name}: {message['refused']}")
            elif "reply" in message:
                return dict(message["reply"])

    def _next(self) -> dict[str, Any]:
        """The next message; raises MachineLostError once the host has been silent for too long."""
        while True:
            try:
                text = self._channel.receive(BEAT_SECONDS)
            except MachineLostError:
                self.is_lost = True
                raise
            except ServerEndedError as error:
                self.is_lost = True
                raise MachineLostError(f"{self.name}: {error}", self.name, self._channel.node) from error
            if text is not None:
                self._heard = monotonic()
                if text != BEAT:
                    found: dict[str, Any] = msgspec.json.decode(text)
                    return found
            elif monotonic() > self._heard + SILENCE_SECONDS:
                self.is_lost = True
                message = f"{self.name} has not answered for {SILENCE_SECONDS:g} s"
                raise MachineLostError(message, self.name, self._channel.node)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Show the host in this block that the driver is there, whatever the driver does meanwhile."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(BEAT_SECONDS):
                self._channel.send(BEAT)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def end(self) -> None:
        """Let the process on the host end, with all that it started; returns once it has, or does not answer."""
        self._channel.send(line("end"))
        until = monotonic() + END_SECONDS
        with suppress(MachineLostError, ServerEndedError):
            while monotonic() < until:
                self._channel.receive(until - monotonic())


class RemoteHost:
    """A leased host of a cluster."""

    def __init__(self, conversation: Conversation, specs: Sequence[RunSpec]) -> None:
        self.specs, self._conversation = specs, conversation

    @property
    def name(self) -> str:
        """The host."""
        return self._conversation.name

    def train(self, spec: RunSpec, index: int, hooks: RunHooks) -> Run:
        """One run, whose events reach the hooks."""
        sent = (spec, index, hooks.samplers, hooks.is_suspicious is not None)
        (run,) = self._runs("train", sent, [hooks])
        return run

    def train_pair(
        self, first: RunSpec, second: RunSpec, index: int, order: Random, hooks: Sequence[RunHooks]
    ) -> tuple[Run, ...]:
        """Two runs whose steps alternate."""
        sent = ((first, second), index, order, hooks[0].samplers, hooks[0].is_suspicious is not None)
        if not (runs := self._runs("pair", sent, hooks)):
            raise TooLittleMemoryError
        return runs

    def _runs(self, op: str, sent: tuple[Any, ...], hooks: Sequence[RunHooks]) -> tuple[Run, ...]:
        reply = self._conversation.ask(line(op, *sent), partial(_answer, hooks, self.name))
        runs = codec.convert(reply["runs"], tuple[Run, ...], self.name)
        return tuple(replace(run, host=self.name) for run in runs)


def _answer(hooks: Sequence[RunHooks], where: str, event: Mapping[str, Any]) -> Any:
    """Call the hook of an event of a run."""
    of_side = hooks[event["side"]]
    match event["event"]:
        case "phase":
            of_side.phase_began(event["phase"])
        case "packages":
            return of_side.packages_reported(codec.convert(event["packages"], Packages, where))
        case "check":
            assert of_side.is_suspicious is not None
            return of_side.is_suspicious(codec.convert(event["check"], CHECKS[event["kind"]], where))
    return None


class Cluster:
    """The hosts of an engine, which must be of one machine class: otherwise the free ones would decide the figures."""

    def __init__(self, engine: Engine, asked: Asked, wait_seconds: float) -> None:
        self._engine, self._asked, self._wait_seconds = engine, asked, wait_seconds
        self._machine: Machine | None = None
        self._conversation: Conversation | None = None

    @property
    def machine(self) -> Machine:
        """That of the first host that is free."""
        if self._machine is None:
            with self._greeted(Patience(waiting=lambda _: None, limit_seconds=self._wait_seconds), frozenset()):
                pass
        assert self._machine is not None
        return self._machine

    @property
    def leased(self) -> str:
        """The host that is leased now."""
        return self._conversation.name if self._conversation else ""

    @contextmanager
    def lease(
        self, specs: Sequence[RunSpec], progress: Progress, lost: frozenset[str] = frozenset()
    ) -> Iterator[RemoteHost | LocalHost]:
        """A whole host, on which the environments and the data of the specs are prepared."""
        if all(isinstance(spec.place, Absent) for spec in specs):
            yield LocalHost(specs=tuple(specs))
            return
        case = specs[-1].case
        patience = Patience(waiting=partial(progress.waiting, case), limit_seconds=specs[-1].wait_seconds)
        with self._greeted(patience, lost) as conversation:
            reply = conversation.ask(line("lease", tuple(specs), self._asked), partial(_shown, progress, specs[-1]))
            placed = codec.convert(reply["placed"], list[Placed], conversation.name)
            self._conversation = conversation
            try:
                yield RemoteHost(conversation, tuple(map(_on_host, specs, placed)))
            finally:
                self._conversation = None

    def speed(self, threads: int, precision: str) -> MachineSpeed | None:
        """That of the leased host; None if it is lost, which its next run reports."""
        if self._conversation is None or self._conversation.is_lost:
            return None
        request = line("speed", threads=threads, precision=precision)
        try:
            reply = self._conversation.ask(request, lambda _: None)
        except MachineLostError:
            return None
        return next(iter(codec.convert(reply["speed"], list[MachineSpeed], self.leased)), None)

    @contextmanager
    def _greeted(self, patience: Patience, lost: frozenset[str]) -> Iterator[Conversation]:
        with self._engine.lease(patience, lost) as channel:
            conversation = Conversation(channel)
            with conversation.beating():
                self._greet(conversation)
                yield conversation
                if not conversation.is_lost:
                    conversation.end()

    def _greet(self, conversation: Conversation) -> None:
        """Raise DlbenchError if the host cannot make runs of this session."""
        path = tuple(str(Path(folder or ".").absolute()) for folder in sys.path)
        greeting = Greeting(version=metadata.version("pytest-dlbench"), path=path)
        try:
            reply = conversation.ask(line("hello", greeting), lambda _: None)
        except MachineLostError as error:
            if isinstance(error.__cause__, ServerEndedError):
                raise DlbenchError(f"{error}; pytest-dlbench must be installed there") from error
            raise
        machine = codec.convert(reply["machine"], Machine, conversation.name)
        self._machine = self._machine or machine
        if machine.name != self._machine.name:
            raise DlbenchError(
                f"{conversation.name}: its machine class is {machine.name}, that of this session's first host"
                f" {self._machine.name}: hosts of several classes cannot be compared, and the one that is free would"
                " decide; use a cluster of one class for a session"
            )


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
