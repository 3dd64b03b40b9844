"""What would spoil measurements on the hosts of a cluster: each is leased, asked, and given back."""

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import codec
from pytest_dlbench.running.hosts.cluster import Engine
from pytest_dlbench.running.hosts.conversation import line
from pytest_dlbench.running.hosts.greeting import greeted
from pytest_dlbench.running.hosts.host import MachineLostError, UnfitHostError
from pytest_dlbench.running.hosts.remote import Conversation, speaking
from pytest_dlbench.running.waits import DeviceBusyError, Patience
from pytest_dlbench.sampling.noise import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """One host, what its conditions are, and its machine class; or why it cannot make runs."""

    host: str
    machine_class: str = ""
    findings: tuple[Finding, ...] = ()
    problem: str = ""


def examined(engine: Engine, patience: Patience) -> Iterator[Examined]:
    """Each host of an engine once. What is not given within the patience comes last, as a host without a name.

    Raises DlbenchError if there is no host at all, and for what the engine refuses.
    """
    seen: frozenset[str] = frozenset()
    while True:
        try:
            with engine.lease(patience, seen) as channel, speaking(channel) as conversation:
                node, found = channel.node, _examine(conversation)
        except UnfitHostError as error:
            node, found = error.node, Examined(host=error.host, problem=str(error))
        except MachineLostError as error:
            if not seen:
                raise DlbenchError(str(error)) from error
            return
        except DeviceBusyError as error:
            limit = error.wait.limit_seconds
            yield Examined(host="", problem=f"{error.wait.device} did not become free within {limit:g} s")
            return
        seen |= {node}
        yield found


def _examine(conversation: Conversation) -> Examined:
    host = conversation.name
    try:
        machine = greeted(conversation)
        reply = conversation.ask(line("conditions"), lambda _: None)
    except (DlbenchError, MachineLostError) as error:
        return Examined(host=host, problem=str(error))
    findings = codec.convert(reply["findings"], tuple[Finding, ...], host)
    return Examined(host=host, machine_class=machine.name, findings=findings)
