"""Whether a run compiled what it trained, or found that compiled: by what it left in its environment's folder."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

# Settings, and what a database or a lock leaves beside itself: no compiled code.
NO_CODE = (".json", ".lock", "-shm")


def files(caches: Path) -> Mapping[str, int]:
    """The bytes of every file with code in it, by its path."""
    return dict(_files(str(caches)))


def _files(folder: str) -> Iterator[tuple[str, int]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif not entry.name.endswith(NO_CODE) and (size := _size(entry)):
            yield entry.path, size


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def state(before: Mapping[str, int], after: Mapping[str, int]) -> Literal["", "cold", "warm"]:
    """Cold if something came, or grew; warm if there was something and nothing came; empty where nothing is kept."""
    if any(size > before.get(path, 0) for path, size in after.items()):
        return "cold"
    return "warm" if after else ""
