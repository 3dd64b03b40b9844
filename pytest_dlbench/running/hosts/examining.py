"""What would spoil measurements on the hosts of a cluster: each is leased, asked, and given back."""

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import codec
from pytest_dlbench.records.problems import MachineLost
from pytest_dlbench.records.reasons import ProblemError
from pytest_dlbench.running.hosts.cluster import Engine
from pytest_dlbench.running.hosts.conversation import line
from pytest_dlbench.running.hosts.greeting import greeted
from pytest_dlbench.running.hosts.host import MachineLostError, UnfitHostError
from pytest_dlbench.running.hosts.remote import Conversation, speaking
from pytest_dlbench.running.waits import DeviceBusyError, Patience
from pytest_dlbench.sampling.noise import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """One host, what its conditions are, and its machine class.

    Or why it cannot make runs: ``problem``, or a ``message`` of others.
    """

    host: str
    machine_class: str = ""
    findings: tuple[Finding, ...] = ()
    problem: MachineLost | None = None
    message: str = ""


def examined(engine: Engine, patience: Patience) -> Iterator[Examined]:
    """Each host of an engine once. What is not given within the patience comes last, as a host without a name.

    Raises ProblemError if there is no host at all, and DlbenchError for what the engine refuses.
    """
    seen: frozenset[str] = frozenset()
    while True:
        try:
            with engine.lease(patience, seen) as channel, speaking(channel) as conversation:
                node, found = channel.node, _examine(conversation)
        except UnfitHostError as error:
            node, found = error.node, Examined(host=error.host, message=str(error))
        except MachineLostError as error:
            if not seen:
                raise ProblemError(error.problem) from error
            return
        except DeviceBusyError as error:
            limit = error.wait.limit_seconds
            yield Examined(host="", message=f"{error.wait.device} did not become free within {limit:g} s")
            return
        seen |= {node}
        yield found


def _examine(conversation: Conversation) -> Examined:
    host = conversation.name
    try:
        machine = greeted(conversation)
        reply = conversation.ask(line("conditions"), lambda _: None)
    except MachineLostError as error:
        return Examined(host=host, problem=error.problem)
    except DlbenchError as error:
        return Examined(host=host, message=str(error))
    findings = codec.convert(reply["findings"], tuple[Finding, ...], host)
    return Examined(host=host, machine_class=machine.name, findings=findings)
