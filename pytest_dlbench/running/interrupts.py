"""SIGTERM and SIGHUP end a session as Ctrl-C does, so that nothing that was measured is lost."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from types import FrameType
from typing import Any

# What a signal does unless somebody else handles or ignores it, as nohup does.
USUAL: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
# Those who end a process often signal it twice: itself and its group, or by Ctrl-C first. The second signal must not
# disturb the clean-up. A person may press Ctrl-C again after a second.
AGAIN_SECONDS = {signal.SIGINT: 1.0, signal.SIGTERM: 10.0, signal.SIGHUP: 10.0}


class TerminatedError(KeyboardInterrupt):
    """A signal other than Ctrl-C's asked this process to end; ``status`` is its exit status."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{signal.Signals(number).name} received")
        self.status = 128 + number


class _Deferral:
    """How many blocks must not be disturbed now, and the first signal that came meanwhile."""

    blocks = 0
    number = 0


class Interrupts:
    """While they are handled, SIGTERM and SIGHUP raise TerminatedError in the main thread."""

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Callable[..., Any] | int | None] = {}
        self._raised = -inf
        self._spared: dict[int, float] = {}

    def handle(self) -> None:
        """From now on; signals that somebody else handles stay theirs."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, usual in USUAL.items():
            if signal.getsignal(number) == usual:
                self._before[number] = signal.signal(number, self._raise)

    def ending(self) -> None:
        """The session ends and writes what it measured: from now on only the second Ctrl-C interrupts it."""
        self._spared = {signal.SIGINT: 1, signal.SIGTERM: inf, signal.SIGHUP: inf}

    def restore(self) -> None:
        """What was there before."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _raise(self, number: int, _: FrameType | None) -> None:
        if _Deferral.blocks:
            _Deferral.number = _Deferral.number or number
            return
        if self._spared.get(number, 0) > 0:
            self._spared[number] -= 1
            return
        if monotonic() < self._raised + AGAIN_SECONDS[signal.Signals(number)]:
            return
        self._raised = monotonic()
        raise KeyboardInterrupt if number == signal.SIGINT else TerminatedError(number)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A handled signal that comes in this block takes effect after it: what is being kept is kept whole."""
    _Deferral.blocks += 1
    try:
        yield
    finally:
        _Deferral.blocks -= 1
        if not _Deferral.blocks and _Deferral.number:
            number, _Deferral.number = _Deferral.number, 0
            signal.raise_signal(number)


@contextmanager
def handled() -> Iterator[Interrupts]:
    """Signals are handled in this block."""
    interrupts = Interrupts()
    interrupts.handle()
    try:
        yield interrupts
    finally:
        interrupts.restore()
