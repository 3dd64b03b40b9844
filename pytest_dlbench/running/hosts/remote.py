"""A leased host of a cluster: the conversation with the process on it that makes its runs."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from random import Random
from time import monotonic
from typing import Any

import msgspec

from pytest_dlbench.environments.requested import Packages
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import CallCheck, Run, StepCheck, codec
from pytest_dlbench.records.problems import MachineLost
from pytest_dlbench.running.alternating import TooLittleMemoryError
from pytest_dlbench.running.hosts.conversation import (
    BEAT,
    BEAT_SECONDS,
    CANCEL,
    SILENCE_SECONDS,
    Channel,
    Refusal,
    ServerEndedError,
    line,
)
from pytest_dlbench.running.hosts.host import MachineLostError
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.waits import DeviceBusyError, Wait

Answer = Callable[[Mapping[str, Any]], Any]
# How long a host may take to end its process and what that started, before the lease is ended all the same.
END_SECONDS = 5.0
CHECKS: Mapping[str, type[StepCheck | CallCheck]] = {kind.__name__: kind for kind in (StepCheck, CallCheck)}


class Conversation:
    """Requests to the process on a leased host, and its replies."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._heard = monotonic()
        self.is_lost = False
        self.addresses: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The host."""
        return self._channel.name

    @property
    def node(self) -> str:
        """The host, for its engine."""
        return self._channel.node

    def ask(self, request: bytes, answer: Answer) -> dict[str, Any]:
        """The reply to a request; ``answer`` is called with each event, and its result returned if one is awaited.

        Raises MachineLostError, DeviceBusyError, and DlbenchError for what the host refuses.
        """
        self.begin(request)
        while (reply := self.proceed(answer, BEAT_SECONDS)) is None:
            pass
        return reply

    def begin(self, request: bytes) -> None:
        """Send a request, whose reply ``proceed`` returns."""
        # Nobody may have listened while another host was waited for.
        self._heard = monotonic()
        self._channel.send(request)

    def proceed(self, answer: Answer, seconds: float) -> dict[str, Any] | None:
        """The reply to the request that was sent, if it comes next and within that time. The rest is as for ``ask``."""
        if (message := self._next(seconds)) is None:
            return None
        if "event" in message:
            if (found := answer(message)) is not None:
                self._channel.send(line("answer", answer=found))
        elif "busy" in message:
            raise DeviceBusyError(codec.convert(message["busy"], Wait, self.name))
        elif "refused" in message:
            raise DlbenchError(f"{self.name}: {message['refused']}")
        return dict(message["reply"]) if "reply" in message else None

    def cancel(self) -> None:
        """End the worker of the run that is being made, which then replies that it was killed."""
        self._channel.send(CANCEL)

    def _next(self, seconds: float) -> dict[str, Any] | None:
        """The next message within that time; raises MachineLostError once the host has been silent for too long."""
        try:
            text = self._channel.receive(seconds)
        except MachineLostError:
            self.is_lost = True
            raise
        except ServerEndedError as error:
            self.is_lost = True
            ended = MachineLost(host=self.name, cause="ended", said=str(error))
            raise MachineLostError(ended, self.node) from error
        if text is not None:
            self._heard = monotonic()
            found: dict[str, Any] | None = None if text == BEAT else msgspec.json.decode(text)
            return found
        if monotonic() > self._heard + SILENCE_SECONDS:
            self.is_lost = True
            silent = MachineLost(host=self.name, cause="silent", silent_seconds=SILENCE_SECONDS)
            raise MachineLostError(silent, self.node)
        return None

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


@contextmanager
def speaking(channel: Channel) -> Iterator[Conversation]:
    """The conversation with the process of a lease, which ends with this block unless its host is lost."""
    conversation = Conversation(channel)
    with conversation.beating():
        yield conversation
        if not conversation.is_lost:
            conversation.end()


class RemoteHost:
    """A leased host of a cluster."""

    def __init__(self, conversation: Conversation, specs: Sequence[RunSpec]) -> None:
        self.specs, self.conversation = specs, conversation

    @property
    def name(self) -> str:
        """The host."""
        return self.conversation.name

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
        return self.runs_of(self.conversation.ask(line(op, *sent), partial(answered, hooks, self.name)))

    def runs_of(self, reply: Mapping[str, Any]) -> tuple[Run, ...]:
        """The runs in a reply, with the name of this host."""
        runs = codec.convert(reply["runs"], tuple[Run, ...], self.name)
        return tuple(replace(run, host=self.name) for run in runs)


def answered(hooks: Sequence[RunHooks], where: str, event: Mapping[str, Any]) -> Any:
    """Call the hook of an event of a run."""
    of_side = hooks[event["side"]]
    match event["event"]:
        case "phase":
            of_side.phase_began(event["phase"])
        case "packages":
            return Refusal(problem=of_side.packages_reported(codec.convert(event["packages"], Packages, where)))
        case "check":
            assert of_side.is_suspicious is not None
            return of_side.is_suspicious(codec.convert(event["check"], CHECKS[event["kind"]], where))
        case "weights":
            of_side.weights_known(event["weights"])
    return None
