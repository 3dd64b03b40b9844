"""One file of each kind that a session leaves, whole; the groups of files damage copies of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_dlbench.environments import locks
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.reporting.exports import document
from pytest_dlbench.storing import Damage, read_journal
from pytest_dlbench.storing.baselines import encode, read_file
from pytest_dlbench.storing.recorded import read, read_document
from tests.doubles import records, sessions

BEFORE = Path(__file__).parents[1] / "storing" / "before"
LOCKED = "jax==0.9.0 ; python_version >= '3.11'  # via optax\nnumpy==2.4.6\n    # via jax\n--extra-index-url=x\n"
PYLOCK = (
    'lock-version = "1.0"\n[[packages]]\nname = "jax"\nversion = "0.9.0"\ndependencies = [{name = "numpy"}]\n'
    '[[packages]]\nname = "numpy"\nversion = "2.4.6"\n'
)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of file: its name, its whole content, and how it is read."""

    name: str
    content: bytes
    read: Callable[[Path], Any]


def journal_entries(path: Path) -> list[Any]:
    """The readable entries."""
    return [entry for entry in read_journal(path) if not isinstance(entry, Damage)]


def kinds(folder: Path) -> list[Kind]:
    """Every kind, those of earlier versions included."""
    journal = sessions.write(folder, "whole")
    whole = read([journal]).cases
    return [
        Kind(name="journal.jsonl", content=journal.read_bytes(), read=journal_entries),
        Kind(name="baseline.json", content=encode(records.baseline()), read=read_file),
        Kind(name="document.json", content=document.write(whole, ()), read=read_document),
        Kind(name="old-journal.jsonl", content=(BEFORE / "journal.jsonl").read_bytes(), read=journal_entries),
        Kind(name="old-baseline.json", content=(BEFORE / "baseline.json").read_bytes(), read=read_file),
        Kind(name="old-document.json", content=(BEFORE / "document.json").read_bytes(), read=read_document),
        Kind(name="requirements.txt", content=LOCKED.encode(), read=lambda path: locks.read(path, "here")),
        Kind(name="pylock.toml", content=PYLOCK.encode(), read=lambda path: locks.read(path, "here")),
    ]


def read_or_refused(kind: Kind, path: Path) -> Any:
    """What is in a file, or the message with which it is refused."""
    try:
        return kind.read(path)
    except DlbenchError as error:
        return str(error)
