"""A driver in a process of its own: ``python -m tests.running.driver BUILDER RUNS STEPS FOLDER [CGROUP_PROCS]``.

It prints "waiting" while another one measures, and every run as a line of JSON. With CGROUP_PROCS it first moves
itself into that control group.
"""

import os
import signal
import sys
from pathlib import Path

from pytest_dlbench.records import Case, Run, codec
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.series import train_series
from tests.running.specs import spec


class Telling(Silent):
    """A listener that tells of waiting."""

    def waiting(self, case: Case, device: str) -> None:  # noqa: ARG002 - the listener's signature
        """Tell."""
        print("waiting", flush=True)


def keep(run: Run) -> None:
    """Print."""
    print(codec.encode_line(run).decode(), end="", flush=True)


def main(builder: str, runs: str, steps: str, folder: str, cgroup: str = "") -> None:
    """Train."""
    # Where the tests run in the background of a shell, interrupts are ignored, and what they start inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if cgroup:
        Path(cgroup).write_text(str(os.getpid()))
    train_series(spec(builder, Path(folder), steps=int(steps)), int(runs), keep=keep, progress=Telling())


if __name__ == "__main__":
    main(*sys.argv[1:])
