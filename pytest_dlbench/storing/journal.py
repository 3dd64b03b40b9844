"""Every finished run and case of a session, one JSON line each, on the disk before the next run starts."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import FORMAT_VERSION, CaseResult, Context, Run, codec


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: a run as it ended, with what it was run in, or a case as it was judged, with the recipe of its runs."""

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
    """A line of a journal that cannot be read."""

    message: str


class Journal:
    """A file that only grows. It is made with the first entry."""

    def __init__(self, folder: Path, name: str = "") -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        suffix = f"-{name}" if name else ""
        self.path = folder / f"{stamp}-{os.getpid()}{suffix}.jsonl"

    def append(self, entry: Entry) -> None:
        """One line, durable when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        with self.path.open("ab+") as file:
            # Whoever else writes to this file: one entry after the other.
            fcntl.flock(file, fcntl.LOCK_EX)
            # What a full disk cut short must not swallow the next entry.
            file.write(b"" if is_new or _ends_whole(file) else b"\n")
            file.write(codec.encode_line(entry))
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
    """The name of a new file is on the disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_journal(path: Path) -> Iterator[Entry | Damage]:
    """All lines, in order; one that is damaged (a kill in the middle of a write) is told, and the others are kept."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror}") from error
    for number, line in enumerate(content.splitlines(), start=1):
        where = f"{path}, line {number}"
        try:
            yield codec.decode_versioned(line, Entry, where)
        except FileFormatError as error:
            yield Damage(message=f"{error}; the line is left out, the others are kept")
