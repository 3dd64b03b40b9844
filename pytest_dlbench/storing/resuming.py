"""--dlbench-resume: goes on with a session that was interrupted, in its own journal."""

import fcntl
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from pytest_dlbench.errors import OptionError
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.reasons import NotExamined
from pytest_dlbench.storing.files import write_whole
from pytest_dlbench.storing.journal import Entry, Journal, Resumption, read_journal

NEWEST = "newest"
FLAG = "--dlbench-resume"
# The name of a journal: when it was started, and by which process.
NAME = re.compile(r"(?P<at>\d{8}T\d{6})-(?P<process>\d+)(-\w+)?\.jsonl")
# Names of journals have whole seconds.
RESOLUTION_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class FinishedRuns:
    """The finished runs of an interrupted session, each of which takes the place of one run, once."""

    _runs: list[Entry] = field(default_factory=list)
    taken: int = 0

    @classmethod
    def of(cls, path: Path) -> "FinishedRuns":
        """Those in a journal; damaged lines are ignored, so their runs are made again."""
        entries = (entry for entry in read_journal(path) if isinstance(entry, Entry))
        return cls(_runs=[entry for entry in entries if entry.run])

    def take(self, case: str, seed: int, conditions: str) -> Run | None:
        """The next finished run of a case with this seed, under the same conditions; None if there is none left."""
        found = next((entry for entry in self._runs if _fits(entry, case, seed, conditions)), None)
        return self._without(found) if found else None

    def take_pair(self, cases: Sequence[str], seed: int, conditions: Sequence[str]) -> tuple[Run, Run] | None:
        """Two finished runs of these cases in this order, with no other run of either case in between.

        A pair of which only one side finished is not half a pair: its machine has changed since.
        """
        own = [entry for entry in self._runs if entry.run and entry.run.case in cases]
        for first, second in pairwise(own):
            if _fits(first, cases[0], seed, conditions[0]) and _fits(second, cases[1], seed, conditions[1]):
                return self._without(first), self._without(second)
        return None

    def _without(self, taken: Entry) -> Run:
        self._runs = [entry for entry in self._runs if entry is not taken]
        self.taken += 1
        assert taken.run
        return taken.run


def _fits(entry: Entry, case: str, seed: int, conditions: str) -> bool:
    run = entry.run
    if run is None or run.outcome is not RunOutcome.FINISHED:
        return False
    # Nobody knows whether its figures are plausible, and the state of its machine is gone.
    if any(isinstance(trouble, NotExamined) for trouble in run.invalid):
        return False
    return (run.case, run.seed, entry.conditions) == (case, seed, conditions)


def resume(folder: Path, asked: str) -> tuple[Path, str] | None:
    """The journal and the name of a session that this process goes on with; None if no session was interrupted.

    ``asked`` is a journal, or NEWEST. Journals of the processes of one session become one. Raises OptionError for a
    journal that cannot be continued.
    """
    if asked == NEWEST and not folder.is_dir():
        return None
    with _locked(folder):
        path = _newest(folder) if asked == NEWEST else _named(Path(asked))
        if path is None:
            return None
        group = _group(path)
        _check(path, group)
        _join(path, group)
        session = next(entry.session for entry in group[path] if entry.session)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        Journal.at(path, session).append(Entry(resumed=Resumption(process=os.getpid(), at=now)))
        return path, session


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two sessions must not go on with one journal."""
    if not folder.is_dir():
        raise OptionError(f"{FLAG}: there is no folder {folder} of journals")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _named(path: Path) -> Path:
    if not path.is_file():
        raise OptionError(f"{FLAG}: there is no journal {path}; dlbench runs list shows those of this folder")
    return path


def name_of(path: Path) -> str:
    """The name of a journal's session; empty in journals of older versions."""
    entries = (entry for entry in read_journal(path) if isinstance(entry, Entry))
    return next((entry.session for entry in entries if entry.session), "")


def _newest(folder: Path) -> Path | None:
    """The newest journal whose session was interrupted."""
    for path in sorted(folder.glob("*.jsonl"), reverse=True):
        entries = _entries(path)
        # Journals of older versions do not say whether their sessions ended.
        if any(entry.session for entry in entries) and not any(map(_is_over, _group(path).values())):
            return path
    return None


def is_over(path: Path) -> bool:
    """Whether the session of a journal ended; journals of older versions do not say so."""
    return _is_over(_entries(path))


def _is_over(entries: Sequence[Entry]) -> bool:
    """Whether a session ended, and was not resumed since."""
    marks = [entry for entry in entries if entry.ended or entry.resumed]
    return bool(marks and marks[-1].ended)


def _entries(path: Path) -> Sequence[Entry]:
    return [entry for entry in read_journal(path) if isinstance(entry, Entry)]


def _group(path: Path) -> dict[Path, Sequence[Entry]]:
    """The journals of all processes of a session, and what is in them."""
    found = {path: _entries(path)}
    sessions = {entry.session for entry in found[path]} - {""}
    # A process of pytest-xdist names itself in its journal.
    for other in sorted(path.parent.glob("*-gw*.jsonl")) if sessions else ():
        entries = _entries(other)
        if other != path and sessions & {entry.session for entry in entries}:
            found[other] = entries
    return found


def _check(path: Path, group: dict[Path, Sequence[Entry]]) -> None:
    entries = [entry for found in group.values() for entry in found]
    if not any(entry.session for entry in entries):
        raise OptionError(
            f"{FLAG}: {path} does not say under which conditions its runs were made: an older version or another"
            " command wrote it; run its session again"
        )
    if any(map(_is_over, group.values())):
        raise OptionError(f"{FLAG}: the session of {path} ended, there is nothing left to run")
    if process := next(filter(None, map(_running, _writers(group))), None):
        raise OptionError(
            f"{FLAG}: the session of {path} is still running, in process {process}; wait for it or end it"
        )


def _writers(group: dict[Path, Sequence[Entry]]) -> Iterator[tuple[int, float]]:
    """The processes that wrote these journals, and a time at which each was running."""
    for path, entries in group.items():
        if named := NAME.fullmatch(path.name):
            begun = datetime.strptime(named["at"], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
            yield int(named["process"]), begun.timestamp() + RESOLUTION_SECONDS
        for entry in entries:
            if entry.resumed:
                at = datetime.fromisoformat(entry.resumed.at).timestamp()
                yield entry.resumed.process, at + RESOLUTION_SECONDS


def _running(writer: tuple[int, float]) -> int:
    """The id of a process that still runs; 0 if it ended, or if another one has its id by now."""
    import psutil  # noqa: PLC0415 - the options know this module, and are read in every session of pytest

    process, then = writer
    try:
        found = psutil.Process(process)
        is_same = found.create_time() <= then and found.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return 0
    return process if is_same and process != os.getpid() else 0


def _join(path: Path, group: dict[Path, Sequence[Entry]]) -> None:
    """Make one journal of several, without the line that was being written when the session was killed."""
    before = {one: _whole_lines(one) for one in group}
    lines = list(dict.fromkeys(line for found in before.values() for line in found))
    content = b"".join(lines)
    if content != path.read_bytes():
        write_whole(path, content)
    # Killed in between, the others are joined again, and their lines are in it already.
    for other in group:
        if other != path:
            other.unlink()


def _whole_lines(path: Path) -> Iterable[bytes]:
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
