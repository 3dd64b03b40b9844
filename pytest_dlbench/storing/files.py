"""Atomic file writes, and a lock for files that are read, changed and written again."""

import errno
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_dlbench.errors import FileFormatError, StorageError

IGNORED = "# Written by pytest-dlbench: what it measures here is for this machine.\n*\n"
UNFINISHED_PREFIX, UNFINISHED = ".dlbench-", ".unfinished"
LOCK = ".dlbench.lock"
# What every file system of Linux accepts, in bytes.
LONGEST_NAME = 255
FREE, ALLOW = "free space there, or choose another place", "make the place writable, or choose another one"
NO_FOLDER = "a file is where a folder should be: rename it, or choose another place"
REMEDIES = {
    errno.ENOSPC: FREE,
    errno.EDQUOT: FREE,
    errno.EROFS: ALLOW,
    errno.EACCES: ALLOW,
    errno.EPERM: ALLOW,
    errno.EEXIST: NO_FOLDER,
    errno.ENOTDIR: NO_FOLDER,
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
}
# Those of errors that nobody gets who reads.
ONLY_WRITING = {number: REMEDIES[number] for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)}


def create_ignored(folder: Path) -> None:
    """Create a folder that git ignores; one that exists is left as it is, because somebody may want it in git."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return
    (folder / ".gitignore").write_text(IGNORED, encoding="utf-8")


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically: readers, even after a crash, see either the old content or the new.

    Raises StorageError if it cannot be written. Unfinished files that killed processes left in the folder are removed.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # A pipe or a device, such as /dev/stdout, is written to and not replaced.
            path.write_bytes(content)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path.parent)
        _replace(path, content)
    except OSError as error:
        raise unwritten(path, error) from error


def _replace(path: Path, content: bytes) -> None:
    descriptor, unfinished = _unfinished(path.parent)
    # Locked until it is closed, by then under its own name.
    with os.fdopen(descriptor, "wb") as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            unfinished.chmod(0o644)
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def _unfinished(folder: Path) -> tuple[int, Path]:
    """A new file that is locked: nobody else takes it for abandoned."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=UNFINISHED_PREFIX, suffix=UNFINISHED, dir=folder)
        _lock(descriptor)
        if os.fstat(descriptor).st_nlink:
            return descriptor, Path(name)
        # Removed before it was locked.
        os.close(descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Remove unfinished files whose writers were killed: those that no process has locked."""
    for path in folder.glob(f"{UNFINISHED_PREFIX}*{UNFINISHED}"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one process at a time reads, changes and writes the files of this folder; raises StorageError."""
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(path)
    except OSError as error:
        raise unwritten(path, error) from error
    try:
        yield
    finally:
        # Not filelock, which leaves its file: it would be committed with the baselines. Removed while it is locked, so
        # that a process that waits for it notices.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        _lock(descriptor)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        # The process that had it removed it meanwhile.
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    # Some network file systems have no locks; a single writer needs none.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def unwritten(path: Path, error: OSError) -> StorageError:
    """The error for a file that could not be written: which, why, and what to do."""
    remedy = REMEDIES.get(error.errno or 0, "choose another place")
    return StorageError(f"{path} cannot be written ({error.strerror or error}): {remedy}")


def folder_name(name: str) -> str:
    """A name from a record that is to be one folder; raises FileFormatError for one that would be another place."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise FileFormatError(f"the name {name!r} cannot be that of a folder; expected one without / and without NUL")
    return name


def file_name(stem: str, suffix: str = ".json") -> str:
    """The stem with its suffix; shortened, and unique by a digest, if it is longer than a file system accepts.

    Raises FileFormatError for a stem from a record that would lead elsewhere.
    """
    if "\0" in stem or Path(stem).is_absolute() or ".." in Path(stem).parts:
        raise FileFormatError(f"the name {stem!r} cannot be that of a file")
    if len(f"{stem}{suffix}".encode()) <= LONGEST_NAME:
        return f"{stem}{suffix}"
    ending = f"-{hashlib.sha256(stem.encode()).hexdigest()[:16]}{suffix}"
    return stem.encode()[: LONGEST_NAME - len(ending)].decode(errors="ignore") + ending
