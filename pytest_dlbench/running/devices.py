"""Who may measure where: one run on a card, and beside one on the processors nothing at all.

The locks are files that all users of the machine share; the kernel releases them with the process that holds them.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.sampling.nvml import NoCardsError, open_cards

# A process that waits for its turn looks this often, so as not to disturb the one that measures.
WAIT_PERIOD_SECONDS = 0.5
CPU = "cpu"


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
        return tuple(card.uuid for card in open_cards([name.strip() for name in visible.split(",") if name.strip()]))
    except NoCardsError:
        return ("",)


@contextmanager
def held(device: str, waiting: Callable[[], None], find_cards: Callable[[], Sequence[str]] = cards) -> Iterator[str]:
    """Hold a device; gives the UUID of the card, empty for the processors. ``waiting`` is called once if it must wait.

    A case on the processors has the machine for itself. Cases on cards share it, each with a card of its own.
    """
    names = () if device == CPU else tuple(find_cards())
    told = False
    while True:
        with ExitStack() as locks:
            card = _acquire(locks, names)
            if card is not None:
                yield card
                return
        if not told:
            waiting()
            told = True
        time.sleep(WAIT_PERIOD_SECONDS)


def _acquire(locks: ExitStack, cards: Sequence[str]) -> str | None:
    """The card that was free, if the processors were; the locks are then on the stack. None where something was not."""
    if not _lock(locks, CPU, fcntl.LOCK_SH if cards else fcntl.LOCK_EX):
        return None
    if not cards:
        return ""
    return next((card for card in cards if _lock(locks, f"gpu-{card}", fcntl.LOCK_EX)), None)


def _lock(locks: ExitStack, name: str, mode: int) -> bool:
    descriptor = _open(folder() / f"{name}.lock")
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
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
