"""The folder of locks that all users of a machine share, the locks in it, and notes on who holds them.

The kernel releases a lock when the process that holds it ends. A note is a file of the holder's own, which nobody else
can write, and valid only while it is locked as well: a killed process leaves none that counts.
"""

import fcntl
import json
import os
import pwd
import secrets
import shlex
import stat
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records.problems import Holder

VARIABLE = "DLBENCH_LOCKS"
# Never TMPDIR: sessions with different ones would not wait for each other.
PARENTS = (Path("/run/lock"), Path("/tmp"))
NAME = "pytest-dlbench"
OPEN_TO_ALL = 0o1777
NOTE_BYTES = 4096
COMMAND_CHARACTERS = 60
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class InUseError(Exception):
    """Another process holds a lock."""

    def __init__(self, *names: str) -> None:
        super().__init__(", ".join(names))
        self.names = names


def path() -> Path:
    """Where the locks of this machine are: in DLBENCH_LOCKS, else /run/lock if all users may write there, else /tmp."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    return next((parent for parent in PARENTS if _is_open_to_all(parent)), PARENTS[-1]) / NAME


def _is_open_to_all(folder: Path) -> bool:
    try:
        mode = folder.stat().st_mode
    except OSError:
        return False
    # Where the file system is read-only, no user may write.
    return stat.S_IMODE(mode) == OPEN_TO_ALL and os.access(folder, os.W_OK)


class LockFolder:
    """The open folder of the locks; a context manager. Locks belong to the ExitStacks that they are taken with."""

    def __init__(self) -> None:
        self.path = path()
        self._descriptor = _opened(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def lock(self, locks: ExitStack, name: str, mode: int, *, is_short: bool = False) -> int:
        """Take a lock; raises InUseError, unless it ``is_short``: held by others for a moment only, and waited for."""
        while True:
            descriptor = self._open(f"{name}.lock")
            try:
                fcntl.flock(descriptor, mode if is_short else mode | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise InUseError(name) from None
            except BaseException:
                os.close(descriptor)
                raise
            if self._is_current(descriptor, f"{name}.lock"):
                locks.callback(os.close, descriptor)
                return descriptor
            # Somebody tidied the folder up: what is locked is no longer the file that others open.
            os.close(descriptor)

    def check_free(self, name: str) -> None:
        """Raise InUseError if anybody holds the lock."""
        with ExitStack() as probe:
            self.lock(probe, name, fcntl.LOCK_EX)

    def note(self, locks: ExitStack, name: str) -> None:
        """Leave a note for those who wait for the lock, until the stack is closed."""
        note = f"{name}.{os.getpid()}-{secrets.token_hex(4)}.holder"
        # A full disk must not prevent a measurement: the note only informs.
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(note, flags, 0o644, dir_fd=self._descriptor)
            locks.callback(os.close, descriptor)
            locks.callback(self._remove, note)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.fchmod(descriptor, 0o644)
            os.write(descriptor, json.dumps({"pid": os.getpid(), "command": _command(sys.orig_argv)}).encode())

    def holders(self, names: Sequence[str]) -> tuple[Holder, ...]:
        """Who holds any of the locks, the longest first; notes of killed processes are removed."""
        prefixes = tuple(f"{name}." for name in names)
        with os.scandir(self._descriptor) as files:
            notes = [file.name for file in files if file.name.startswith(prefixes) and file.name.endswith(".holder")]
        found = {holder.pid: holder for note in notes if (holder := self._read(note))}
        return tuple(sorted(found.values(), key=lambda holder: holder.since))

    def _read(self, note: str) -> Holder | None:
        try:
            # Not blocked by a named pipe that somebody put there.
            descriptor = os.open(note, READING | os.O_NONBLOCK, dir_fd=self._descriptor)
        except OSError:
            return None
        try:
            return _holder(descriptor) if self._is_held(descriptor, note) else None
        finally:
            os.close(descriptor)

    def _is_held(self, descriptor: int, note: str) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        self._remove(note)
        return False

    def _remove(self, name: str) -> None:
        # Only its owner may remove it from a sticky folder.
        with suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)

    def _is_current(self, descriptor: int, name: str) -> bool:
        try:
            there = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(descriptor))

    def _open(self, name: str) -> int:
        """Open the file of a lock. Nobody writes to it, and a symbolic link in its place is not followed."""
        try:
            # First without O_CREAT: in a sticky folder kernels refuse O_CREAT on another user's file.
            with suppress(FileNotFoundError):
                return os.open(name, READING, dir_fd=self._descriptor)
            descriptor = os.open(name, READING | os.O_CREAT, 0o644, dir_fd=self._descriptor)
        except OSError as error:
            where = self.path / name
            raise DlbenchError(f"{where}: {error.strerror}; this file locks a device, and must be readable") from error
        with suppress(PermissionError):
            os.fchmod(descriptor, 0o644)
        return descriptor


def _opened(folder: Path) -> int:
    """The open folder, made if it is missing; raises DlbenchError if it is not one that all users can share."""
    is_given = VARIABLE in os.environ
    advice = f"locks on devices are there; {VARIABLE} names another folder, the same for all users of this machine"
    try:
        is_new = _made(folder)
        descriptor = os.open(folder, READING | os.O_DIRECTORY)
    except OSError as error:
        problem = "a symbolic link, which is not followed" if folder.is_symlink() else str(error.strerror)
        raise DlbenchError(f"{folder}: {problem}; {advice}") from error
    status = os.fstat(descriptor)
    mode = stat.S_IMODE(status.st_mode)
    # The umask restricts mkdir's own mode. By its descriptor: nobody can put another folder in its place meanwhile.
    if is_new or (not is_given and status.st_uid == os.geteuid() and mode != OPEN_TO_ALL):
        os.fchmod(descriptor, OPEN_TO_ALL)
    elif not is_given and mode != OPEN_TO_ALL:
        os.close(descriptor)
        owner = _user(status.st_uid)
        raise DlbenchError(
            f"{folder}: belongs to {owner} and has the mode {mode:04o}, expected {OPEN_TO_ALL:04o}: ask {owner} to"
            f" remove it; {advice}"
        )
    return descriptor


def _made(folder: Path) -> bool:
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True


def _holder(descriptor: int) -> Holder | None:
    """Who wrote a note: user and time are the kernel's, the rest is what the note says."""
    status = os.fstat(descriptor)
    try:
        note = json.loads(os.read(descriptor, NOTE_BYTES))
        command = "".join(letter if letter.isprintable() else "?" for letter in str(note["command"]))
        pid = int(note["pid"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return Holder(user=_user(status.st_uid), pid=pid, command=_cut(command), since=status.st_mtime)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _command(words: Sequence[str]) -> str:
    first, *others = words or ["python"]
    return _cut(shlex.join([Path(first).name, *others]))


def _cut(command: str) -> str:
    return command if len(command) <= COMMAND_CHARACTERS else f"{command[: COMMAND_CHARACTERS - 1]}…"
