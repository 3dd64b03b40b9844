"""Whether a run compiled code or reused compiled code, judged by the files in its environment's cache folder."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

# Settings, and the side files of databases and locks: none of them is compiled code.
NO_CODE = (".json", ".lock", "-shm")


def files(caches: Path) -> Mapping[str, int]:
    """The size in bytes of every file that may hold compiled code, by path."""
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
    """Cold if a file was added or grew; warm if there are files and none changed; empty if there are none."""
    if any(size > before.get(path, 0) for path, size in after.items()):
        return "cold"
    return "warm" if after else ""
