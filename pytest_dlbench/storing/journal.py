"""Every finished run and case of a session, one JSON line each, written to disk before the next run starts."""

import fcntl
import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import JOURNAL_FORMAT, CaseResult, Context, MetricFacts, Program, Run, codec
from pytest_dlbench.storing import consistent
from pytest_dlbench.storing.files import create_ignored, unwritten

# Lines of format 1 have no checksum.
FORMATS = (1, 2, JOURNAL_FORMAT)
# How the names of compressed journals end.
COMPRESSED = (".gz", ".xz")


RunName = tuple[str, str]
"""The case of a run, and when it began: unique in a session."""


def name_of(run: Run) -> RunName:
    """The name by which a result refers to a run."""
    return run.case, run.began


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """The id of the process that resumed a session, and when, in UTC."""

    process: int
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: a run with its context, or the result of a case with its context and the recipe of its runs.

    ``session`` names the pytest session that wrote it; under pytest-xdist, each of its processes has its own journal.
    ``conditions`` is a digest of all that a run depends on. ``program`` is None for a network. ``runs`` and
    ``old_runs`` name the runs from which a result was concluded; empty in files older than these fields. ``resumed`` is
    the process by which the session goes on from here, ``ended`` the time at which all of its tests had run, in UTC;
    both are lines of their own.
    """

    format: int = JOURNAL_FORMAT
    session: str = ""
    run: Run | None = None
    context: Context | None = None
    conditions: str = ""
    result: CaseResult | None = None
    recipe: Mapping[str, Any] | None = None
    metrics: tuple[MetricFacts, ...] = ()
    program: Program | None = None
    runs: tuple[RunName, ...] = ()
    old_runs: tuple[RunName, ...] = ()
    resumed: Resumption | None = None
    ended: str = ""

    def __post_init__(self) -> None:
        if not (self.run or self.result or self.resumed or self.ended):
            raise ValueError("an entry has a run or a result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """An unreadable line of a journal."""

    message: str


class Journal:
    """An append-only file, created with the first entry.

    If its disk is full or read-only, it goes on in a temporary folder, with what it has so far: hours of training must
    not be lost for a file. ``problem`` says so then, and ``path`` is the new place.
    """

    def __init__(self, folder: Path, name: str = "", session: str = "") -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        suffix = f"-{name}" if name else ""
        self.path, number = folder / f"{stamp}-{os.getpid()}{suffix}.jsonl", 2
        # A process may have had another session in this second.
        while self.path.exists():
            self.path, number = folder / f"{stamp}-{os.getpid()}_{number}{suffix}.jsonl", number + 1
        self.problem = ""
        self.session = session

    @classmethod
    def at(cls, path: Path, session: str) -> "Journal":
        """An existing journal, to which a session is added."""
        found = cls(path.parent, session=session)
        found.path = path
        return found

    def append(self, entry: Entry) -> None:
        """Append one line, which is on disk when this returns, unless there is a ``problem``."""
        line = codec.checked_line(replace(entry, session=self.session))
        try:
            self._append(line)
        except OSError as error:
            self._move(line, error)

    def _move(self, line: bytes, error: OSError) -> None:
        """Continue elsewhere; the first problem is the one to fix."""
        said = str(unwritten(self.path, error))
        try:
            before = self.path.read_bytes() if self.path.exists() else b""
            moved = Path(tempfile.mkdtemp(prefix="dlbench-journal-"), self.path.name)
            # Without an entry that the full disk cut.
            moved.write_bytes(before[: before.rfind(b"\n") + 1] + line)
        except OSError as second:
            said += f"; nor can {tempfile.gettempdir()} ({second.strerror}): some runs are in no file"
        else:
            said += f"; this session's journal is {moved}: move it to {self.path.parent}"
            self.path = moved
        self.problem = self.problem or said

    def _append(self, line: bytes) -> None:
        create_ignored(self.path.parent)
        is_new = not self.path.exists()
        with self.path.open("ab+") as file:
            # Serialises entries if other processes write to this file.
            fcntl.flock(file, fcntl.LOCK_EX)
            # An entry truncated by a full disk must not swallow the next one.
            file.write(b"" if is_new or ends_whole(file) else b"\n")
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            _make_durable(self.path.parent)


def ends_whole(file: BinaryIO) -> bool:
    """Whether the last line of a file is complete."""
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _make_durable(folder: Path) -> None:
    """Sync the folder: a new file's name is on disk only once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_journal(path: Path) -> Iterator[Entry | Damage]:
    """All lines, in order; a damaged one (from a kill during a write) gives a Damage, and the others are kept."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror}") from error
    yield from read_lines(_expanded(content, path) if path.suffix in COMPRESSED else content, str(path))


def _expanded(content: bytes, path: Path) -> bytes:
    return _of_xz(content, path) if path.suffix == ".xz" else _of_gzip(content, path)


def _of_gzip(content: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise _incomplete("gzip", "gzip -n", path, error) from error


def _of_xz(content: bytes, path: Path) -> bytes:
    try:
        # A Python that was built without liblzma lacks it.
        import lzma  # noqa: PLC0415
    except ImportError as error:
        raise FileFormatError(
            f"{path}: this Python has no lzma to read it ({error}); expand it with xz -d, or use a Python that has it"
        ) from error
    try:
        return lzma.decompress(content)
    except (EOFError, lzma.LZMAError) as error:
        raise _incomplete("xz", "xz", path, error) from error


def _incomplete(kind: str, again: str, path: Path, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{path}: not a complete {kind} file ({error}); restore it, or compress the journal again with {again}"
    )


def read_lines(content: bytes, where: str) -> Iterator[Entry | Damage]:
    """The same for the content of a journal."""
    # Not splitlines, to which a carriage return by a flipped bit is the end of a line.
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    for number, line in enumerate(lines, start=1):
        yield _read(line, f"{where}, line {number}")


def _read(line: bytes, where: str) -> Entry | Damage:
    try:
        entry = codec.decode_versioned(line, Entry, where, FORMATS)
        consistent.check(where, "$", _problems(entry))
    except FileFormatError as error:
        return Damage(message=f"{error}; the line is skipped, the others are kept")
    return entry


def _problems(entry: Entry) -> Iterator[consistent.Problem]:
    yield from consistent.within("run", consistent.of_run(entry.run)) if entry.run else ()
    yield from consistent.within("context", consistent.of_context(entry.context)) if entry.context else ()
    yield from consistent.within("result", consistent.of_result(entry.result)) if entry.result else ()
    yield from consistent.of_metrics(entry.metrics)
