"""Gives environments the same start: none of their libraries is in the page cache.

A page fault maps cached neighbours of a page, too. How many there are depends on how the file came into the cache, not
on the process: after ``import paddle``, 156 MiB of libraries were resident if the faults of a process had read them,
158 MiB if an installer had just written them, and 246 MiB if another program had read the files from start to end
(Paddle 3.2.2, Linux 6.18, ext4). The peak of the resident set contains these pages, so that a new version could seem to
need more memory.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

# Those of virtual environments, and of Debian's and Fedora's own Pythons.
PACKAGES = "lib*/python*/*-packages"


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


@cache
def forget_once(python: Path) -> None:
    """The same for a single Python, the first time in this process: a session begins like the one it is compared with.

    What has been read since then was read by the processes of the session, a fault at a time.
    """
    forget_libraries([python])


def _packages(python: Path) -> Iterator[Path]:
    # Not resolved: a virtual environment's bin/python is a link to the Python that it was made with.
    return filter(Path.is_dir, python.parent.parent.glob(PACKAGES))


def _libraries(python: Path) -> Iterator[Path]:
    found = (path for folder in _packages(python) for path in folder.rglob("*.so*"))
    return (path for path in found if path.is_file() and not path.is_symlink())


def _forget(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # Pages that are not yet on the disk cannot be dropped.
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
