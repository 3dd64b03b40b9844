"""A driver in its own process: ``python -m tests.running.driver BUILDER RUNS STEPS FOLDER [CGROUP_PROCS]``.

It prints "waiting for" and process ids while other drivers measure, and every run as a line of JSON. With CGROUP_PROCS
it first moves itself into that control group.
"""

import os
import signal
import sys
from pathlib import Path

from pytest_dlbench.records import Case, Run, codec
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.series import train_series
from pytest_dlbench.running.waits import Wait
from tests.running.specs import spec


class PrintsWaiting(Silent):
    """A listener that reports waiting."""

    def waiting(self, case: Case, wait: Wait) -> None:  # noqa: ARG002 - the listener's signature
        """Print it, with who is waited for."""
        print("waiting for", *(holder.pid for holder in wait.holders), flush=True)


def keep(run: Run) -> None:
    """Print the run."""
    print(codec.encode_line(run).decode(), end="", flush=True)


def main(builder: str, runs: str, steps: str, folder: str, cgroup: str = "") -> None:
    """Train."""
    # If the tests run in the background of a shell, they ignore interrupts, and child processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if cgroup:
        Path(cgroup).write_text(str(os.getpid()))
    train_series(spec(builder, Path(folder), steps=int(steps)), int(runs), keep=keep, progress=PrintsWaiting())


if __name__ == "__main__":
    main(*sys.argv[1:])
