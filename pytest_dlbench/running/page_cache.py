"""Gives the environments of a pair the same start: none of their libraries is in the page cache.

A page fault maps cached neighbours of a page, too. How many there are depends on how the file came into the cache, not
on the process: after ``import paddle``, 197 MiB of libraries were resident in one new environment and 220 MiB in
another one, whose libraries have the same sizes, and 156 MiB in both once these had been dropped (Linux 6.18, ext4).
The peak of the resident set contains these pages, so that a new version could seem to need more memory.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

PACKAGES = "lib/python*/site-packages"


def forget_libraries(pythons: Iterable[Path]) -> None:
    """Drop the shared libraries in the packages of these Pythons from the page cache, except pages that are in use.

    The next process reads them from the disk. Does nothing where the system has no such call.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    for python in pythons:
        for path in _libraries(python):
            with suppress(OSError):
                _forget(path)


def _libraries(python: Path) -> Iterator[Path]:
    # Not resolved: a virtual environment's bin/python is a link to the Python that it was made with.
    folders = python.parent.parent.glob(PACKAGES)
    return (path for folder in folders for path in folder.rglob("*.so*") if path.is_file() and not path.is_symlink())


def _forget(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # Pages that are not yet on the disk cannot be dropped.
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
