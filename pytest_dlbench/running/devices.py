"""Who may measure where: one run on a card, and beside one on the processors nothing at all.

What is not measured shares the machine with its like, each with processors of its own, and with no measurement.
The locks are files that all users of the machine share; the kernel releases them with the process that holds them.
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

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.running import pinning
from pytest_dlbench.sampling.nvml import NoGpuError, open_gpus

# A process that waits for its turn looks this often, so as not to disturb the one that measures.
WAIT_PERIOD_SECONDS = 0.5
CPU = "cpu"
# The first is held by all that measure or wait for it, the second by all that are not measured.
TIMED, UNTIMED = "timed", "untimed"
T = TypeVar("T")


def folder() -> Path:
    """Where the locks are: one place for all users, in which everybody may make files."""
    found = Path(tempfile.gettempdir()) / "pytest-dlbench-locks"
    found.mkdir(exist_ok=True)
    with suppress(PermissionError):
        # mkdir's own mode is cut by the umask; who did not make the folder need not change it.
        found.chmod(0o1777)
    return found


def cards() -> tuple[str, ...]:
    """The UUIDs of the cards that this session may use; one without a name where no library tells them apart."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    try:
        return tuple(card.uuid for card in open_gpus([name.strip() for name in visible.split(",") if name.strip()]))
    except NoGpuError:
        return ("",)


def places(device: str, find_cards: Callable[[], Sequence[str]] = cards) -> int:
    """How many cases can be measured on a device at the same time."""
    return 1 if device == CPU else max(1, len(find_cards()))


@contextmanager
def held(device: str, waiting: Callable[[], None], find_cards: Callable[[], Sequence[str]] = cards) -> Iterator[str]:
    """Hold a device to measure on it; gives the UUID of the card, empty for the processors.

    A case on the processors has the machine for itself. Cases on cards share it, each with a card of its own. What
    ``shared`` lets in is kept out from now on, and waited for. ``waiting`` is called once if it must wait.
    """
    names = () if device == CPU else tuple(find_cards())
    with ExitStack() as wish:
        _lock(wish, TIMED, fcntl.LOCK_SH, is_short=True)
        with _turn(partial(_free_card, cards=names), waiting) as card:
            yield card


@contextmanager
def shared(threads: int, waiting: Callable[[], None], cores: Sequence[int] | None = None) -> Iterator[frozenset[int]]:
    """Compute something that is not measured; gives processors that nobody else has from here.

    As many as ``threads``, the first free ones of ``cores``; none where the system pins nothing. Never beside a
    measurement, nor while one waits. ``waiting`` is called once if it must wait.
    """
    ranked = pinning.ranked() if cores is None else tuple(cores)
    with _turn(partial(_free_cores, ranked=ranked, threads=min(threads, len(ranked))), waiting) as found:
        yield found


@contextmanager
def _turn(free: Callable[[ExitStack], T | None], waiting: Callable[[], None]) -> Iterator[T]:
    """What was free, as soon as it is; ``free`` puts the locks on it on a stack."""
    told = False
    while True:
        with ExitStack() as locks:
            found = free(locks)
            if found is not None:
                yield found
                return
        if not told:
            waiting()
            told = True
        time.sleep(WAIT_PERIOD_SECONDS)


def _free_card(locks: ExitStack, cards: Sequence[str]) -> str | None:
    """The card that was free, if the processors were; the locks are then on the stack. None where something was not."""
    if not _is_free(UNTIMED) or not _lock(locks, CPU, fcntl.LOCK_SH if cards else fcntl.LOCK_EX):
        return None
    if not cards:
        return ""
    return next((card for card in cards if _lock(locks, f"gpu-{card}", fcntl.LOCK_EX)), None)


def _free_cores(locks: ExitStack, ranked: Sequence[int], threads: int) -> frozenset[int] | None:
    """So many processors, if nobody measures or waits for it; else None."""
    # One's own first, then a look at the other's: of two that come at once at least one sees the other.
    _lock(locks, UNTIMED, fcntl.LOCK_SH, is_short=True)
    if not _is_free(TIMED):
        return None
    free = (core for core in ranked if _lock(locks, f"core-{core}", fcntl.LOCK_EX))
    found = frozenset(islice(free, threads))
    return found if len(found) == threads else None


def _is_free(name: str) -> bool:
    with ExitStack() as look:
        return _lock(look, name, fcntl.LOCK_EX)


def _lock(locks: ExitStack, name: str, mode: int, *, is_short: bool = False) -> bool:
    """Whether it was to be had; one that others hold for a moment only is waited for."""
    descriptor = _open(folder() / f"{name}.lock")
    try:
        fcntl.flock(descriptor, mode if is_short else mode | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    locks.callback(os.close, descriptor)
    return True


def _open(path: Path) -> int:
    """The file of a lock. Nobody writes into it, and a link that somebody put there is not followed."""
    try:
        # First without making it: in such a folder kernels refuse to make, or make again, what is another user's.
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DlbenchError(f"{path}: {error.strerror}; this file locks a device, and must be readable") from error
    with suppress(PermissionError):
        os.fchmod(descriptor, 0o644)
    return descriptor
