"""A driver whose runs are made on the cluster: ``python -m tests.cluster.driver BUILDER RUNS STEPS FOLDER``.

It prints every run that it keeps as a line of JSON.
"""

import signal
import sys
from pathlib import Path

from pytest_dlbench.environments.placing import Elsewhere
from pytest_dlbench.records import Run, codec
from pytest_dlbench.running.hosts.cluster import Cluster
from pytest_dlbench.running.hosts.conversation import Asked
from pytest_dlbench.running.hosts.ray import RayEngine
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.series import train_series
from tests.running.specs import spec

WAIT_SECONDS = 60.0


def keep(run: Run) -> None:
    """Print the run."""
    print(codec.encode_line(run).decode(), end="", flush=True)


def main(builder: str, runs: str, steps: str, folder: str) -> None:
    """Train."""
    hosts = Cluster(RayEngine(), Asked(), WAIT_SECONDS)
    asked = spec(builder, Path(folder), steps=int(steps), place=Elsewhere(), wait_seconds=WAIT_SECONDS)
    train_series(asked, int(runs), keep=keep, progress=Silent(), hosts=hosts)


if __name__ == "__main__":
    # The jobs that a shell runs in the background ignore it, and so would this process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(*sys.argv[1:])
