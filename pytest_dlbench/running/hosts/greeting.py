"""The greeting, by which a driver learns what a leased host is, and whether it can make runs of this session."""

import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import Machine, codec
from pytest_dlbench.running.hosts.conversation import Greeting, ServerEndedError, line
from pytest_dlbench.running.hosts.host import MachineLostError
from pytest_dlbench.running.hosts.remote import Conversation


def greeted(conversation: Conversation) -> Machine:
    """The machine class of a host; raises DlbenchError if it cannot make runs of this session."""
    path = tuple(str(Path(folder or ".").absolute()) for folder in sys.path)
    greeting = Greeting(version=_version(), path=path)
    try:
        reply = conversation.ask(line("hello", greeting), lambda _: None)
    except MachineLostError as error:
        if isinstance(error.__cause__, ServerEndedError):
            said = f"{conversation.name}: {error.__cause__}"
            raise DlbenchError(f"{said}; pytest-dlbench must be installed there") from error
        raise
    conversation.addresses = codec.convert(reply["addresses"], tuple[str, ...], conversation.name)
    return codec.convert(reply["machine"], Machine, conversation.name)


@cache
def _version() -> str:
    """That of this package, whose metadata take a millisecond to read."""
    return metadata.version("pytest-dlbench")
