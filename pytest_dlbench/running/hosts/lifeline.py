"""Runs salloc, which must not outlive a driver: ``python -I -S lifeline.py salloc…``.

A driver that is killed cannot end what it has started, and SLURM would keep its lease, or still wait for one.
Standard library only: it has to start in milliseconds.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# The host ends its run itself once its line to the driver is closed, and more thoroughly than SLURM.
GRACE_SECONDS = 5.0
CANCEL_SECONDS = 3.0
# salloc then gives its nodes back at once, whether or not srun answers.
RELEASE = signal.SIGHUP
# From the kernel, once the driver has ended.
ORPHANED = signal.SIGUSR1


class EndedError(BaseException):
    """The command has to end."""


class Ending:
    """Handles the signals: the first one raises EndedError, as soon as there is a process to be ended."""

    def __init__(self) -> None:
        self.number = 0
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self, number: int, _: Any) -> None:
        """The handler."""
        if not self.number:
            self.number = number
            self.check()

    def check(self) -> None:
        """Raise EndedError if a signal has come."""
        if self.number and self.process:
            raise EndedError


def main(command: Sequence[str]) -> int:
    """Run the command; its exit status."""
    driver, ending = os.getppid(), Ending()
    for number in (signal.SIGTERM, ORPHANED):
        signal.signal(number, ending)
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_PDEATHSIG, int(ORPHANED), 0, 0, 0)
    # Orphans of salloc become children of this process.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != driver:
        return 1
    process = subprocess.Popen(command)
    try:
        ending.process = process
        ending.check()
        return process.wait()
    except EndedError:
        return _ended(process, GRACE_SECONDS if ending.number == ORPHANED else 0.0)
    finally:
        _end_children()


def _ended(process: "subprocess.Popen[bytes]", grace_seconds: float) -> int:
    """The exit status of a process that ends by itself, by RELEASE, or at last by SIGKILL."""
    for seconds, number in ((grace_seconds, RELEASE), (CANCEL_SECONDS, signal.SIGKILL)):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
    return process.wait()


def _end_children() -> None:
    """Kill what is left: srun waits for minutes for a step that does not answer."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    # Kernels may be built without that file.
    while listed.exists() and (children := listed.read_text("utf-8").split()):
        for child in map(int, children):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
