"""Every finished run and case of a session, one JSON line each, written to disk before the next run starts."""

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import FORMAT_VERSION, CaseResult, Context, Run, codec
from pytest_dlbench.storing.files import unwritten


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: a run with its context, or the result of a case with the recipe of its runs."""

    format: int = FORMAT_VERSION
    run: Run | None = None
    context: Context | None = None
    result: CaseResult | None = None
    recipe: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.run is None and self.result is None:
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

    def __init__(self, folder: Path, name: str = "") -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        suffix = f"-{name}" if name else ""
        self.path = folder / f"{stamp}-{os.getpid()}{suffix}.jsonl"
        self.problem = ""

    def append(self, entry: Entry) -> None:
        """Append one line, which is on disk when this returns, unless there is a ``problem``."""
        line = codec.encode_line(entry)
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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        with self.path.open("ab+") as file:
            # Serialises entries if other processes write to this file.
            fcntl.flock(file, fcntl.LOCK_EX)
            # An entry truncated by a full disk must not swallow the next one.
            file.write(b"" if is_new or _ends_whole(file) else b"\n")
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            _make_durable(self.path.parent)


def _ends_whole(file: BinaryIO) -> bool:
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
    for number, line in enumerate(content.splitlines(), start=1):
        where = f"{path}, line {number}"
        try:
            yield codec.decode_versioned(line, Entry, where)
        except FileFormatError as error:
            yield Damage(message=f"{error}; the line is skipped, the others are kept")
