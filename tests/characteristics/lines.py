"""Results that are appended to a file as soon as each is known, so that an experiment can be cut at any time."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def lines(file: Path, kind: type[T]) -> list[T]:
    """The results of a file; the last line may have been cut."""
    found = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    return [msgspec.json.decode(line, type=kind) for line in found if line.endswith(b"\n")]


def append(file: Path, one: Any) -> None:
    """Add a line, after what may be left of one that was cut."""
    known = file.read_bytes() if file.exists() else b""
    whole = known[: known.rfind(b"\n") + 1]
    if whole != known:
        file.write_bytes(whole)
    with file.open("ab") as out:
        out.write(msgspec.json.encode(one) + b"\n")
