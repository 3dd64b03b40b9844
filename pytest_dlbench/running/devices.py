"""Locks on devices: one measured run per GPU at a time, and nothing else while a run on the CPU is measured.

Untimed runs may run concurrently, each on its own cores, but never during a measurement. The locks are files that all
users of the machine share; the kernel releases them when the process that holds them ends.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pytest_dlbench.environments.devices import visible_gpus
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.running import pinning
from pytest_dlbench.sampling.nvml import NoGpuError, open_gpus

# How often a waiting process retries: seldom enough not to disturb the one that measures.
WAIT_PERIOD_SECONDS = 0.5
CPU = "cpu"
# The first is held by every run that is measured or waits to be, the second by every untimed run.
TIMED, UNTIMED = "timed", "untimed"
T = TypeVar("T")


def folder() -> Path:
    """The folder of the locks: shared by all users, all of whom may create files in it."""
    found = Path(tempfile.gettempdir()) / "pytest-dlbench-locks"
    found.mkdir(exist_ok=True)
    with suppress(PermissionError):
        # The umask restricts mkdir's own mode. Only the folder's owner can, and need, change it.
        found.chmod(0o1777)
    return found


def gpus() -> tuple[str, ...]:
    """The UUIDs of the GPUs that this session may use: none if CUDA_VISIBLE_DEVICES hides them.

    A single empty one if no library can list them.
    """
    names = visible_gpus()
    if names == ():
        return ()
    try:
        return tuple(gpu.uuid for gpu in open_gpus(names))
    except NoGpuError:
        return ("",)


def places(device: str, find_gpus: Callable[[], Sequence[str]] = gpus) -> int:
    """How many cases can be measured on a device at the same time."""
    return 1 if device == CPU else max(1, len(find_gpus()))


@contextmanager
def held(device: str, waiting: Callable[[], None], find_gpus: Callable[[], Sequence[str]] = gpus) -> Iterator[str]:
    """Lock a device to measure on it; yields the UUID of the GPU, empty for the CPU.

    A case on the CPU has the machine to itself. Cases on GPUs share it, each with its own GPU. New ``shared`` blocks
    must wait from now on, and those that already run are waited for. ``waiting`` is called once if this has to wait.
    """
    names = () if device == CPU else tuple(find_gpus())
    with ExitStack() as request:
        _lock(request, TIMED, fcntl.LOCK_SH, is_short=True)
        with _acquired(partial(_free_gpu, gpus=names), waiting) as gpu:
            yield gpu


@contextmanager
def shared(threads: int, waiting: Callable[[], None], cores: Sequence[int] | None = None) -> Iterator[frozenset[int]]:
    """Lock cores for an untimed run; yields cores that no other such run has.

    They are the first ``threads`` free ones of ``cores``; none if the system cannot pin processes. Never during a
    measurement, nor while one waits. ``waiting`` is called once if this has to wait.
    """
    ranked = pinning.ranked() if cores is None else tuple(cores)
    with _acquired(partial(_free_cores, ranked=ranked, threads=min(threads, len(ranked))), waiting) as found:
        yield found


@contextmanager
def _acquired(acquire: Callable[[ExitStack], T | None], waiting: Callable[[], None]) -> Iterator[T]:
    """The result of ``acquire`` as soon as it is not None; it puts its locks on the stack that it is given."""
    has_waited = False
    while True:
        with ExitStack() as locks:
            found = acquire(locks)
            if found is not None:
                yield found
                return
        if not has_waited:
            waiting()
            has_waited = True
        time.sleep(WAIT_PERIOD_SECONDS)


def _free_gpu(locks: ExitStack, gpus: Sequence[str]) -> str | None:
    """A free GPU, locked together with the CPU; empty if ``gpus`` is empty, None if it is in use."""
    if not _is_free(UNTIMED) or not _lock(locks, CPU, fcntl.LOCK_SH if gpus else fcntl.LOCK_EX):
        return None
    if not gpus:
        return ""
    return next((gpu for gpu in gpus if _lock(locks, f"gpu-{gpu}", fcntl.LOCK_EX)), None)


def _free_cores(locks: ExitStack, ranked: Sequence[int], threads: int) -> frozenset[int] | None:
    """That many free cores, locked; None if too few are free, or somebody measures or waits to."""
    # Take our own lock before checking the other one: of two that start together, at least one sees the other.
    _lock(locks, UNTIMED, fcntl.LOCK_SH, is_short=True)
    if not _is_free(TIMED):
        return None
    free = (core for core in ranked if _lock(locks, f"core-{core}", fcntl.LOCK_EX))
    found = frozenset(islice(free, threads))
    return found if len(found) == threads else None


def _is_free(name: str) -> bool:
    with ExitStack() as probe:
        return _lock(probe, name, fcntl.LOCK_EX)


def _lock(locks: ExitStack, name: str, mode: int, *, is_short: bool = False) -> bool:
    """Whether the lock was acquired; a short one, which others hold for a moment only, is waited for."""
    descriptor = _open(folder() / f"{name}.lock")
    try:
        fcntl.flock(descriptor, mode if is_short else mode | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    locks.callback(os.close, descriptor)
    return True


def _open(path: Path) -> int:
    """Open the file of a lock. Nobody writes to it, and a symbolic link in its place is not followed."""
    try:
        # First without O_CREAT: in a sticky folder kernels refuse O_CREAT on another user's file.
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DlbenchError(f"{path}: {error.strerror}; this file locks a device, and must be readable") from error
    with suppress(PermissionError):
        os.fchmod(descriptor, 0o644)
    return descriptor
