"""What the daemons of an engine cost a host on which they do nothing: ``python -m tests.cluster.idle ray|slurm``.

In every round, a matrix product is repeated on all processors for a second with the daemons of the host running, and
twice with them stopped (SIGSTOP), in all orders; the second time without them is the null. Their own processor time is
read from the kernel. The daemons of the cluster's head, which are not on measured hosts, run all the time.
"""

import argparse
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, sleep

import numpy as np
import psutil

from tests.cluster.conftest import HEAD, HOSTS, Network
from tests.cluster.slurm import Slurm
from tests.perf.pairs import interleaved, median_ratio

WITH, WITHOUT, AGAIN = "with", "without", "without again"
BLOCK_SECONDS, SETTLING_SECONDS = 1.0, 0.2
SIZE = 384
# After they are started, daemons are busy for a while.
BEFORE_SECONDS = 20.0


@contextmanager
def ray(network: Network) -> Iterator[None]:
    """A head, and one host with its daemons."""
    for host in (HEAD, HOSTS[0]):
        network.start_node(host)
    yield


@contextmanager
def slurm(network: Network) -> Iterator[None]:
    """A controller, and two hosts with their daemons."""
    made = Slurm(network)
    try:
        made.start()
        yield
    finally:
        made.stop()


ENGINES = {"ray": ray, "slurm": slurm}


class Daemons:
    """The processes on a host, and the processor time that they used while they were running."""

    def __init__(self, processes: Sequence[psutil.Process]) -> None:
        self.processes = processes
        self.cpu_seconds = self.seconds = 0.0

    @property
    def rss_bytes(self) -> int:
        """Of all of them."""
        return sum(process.memory_info().rss for process in self.processes)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """They do not run in this block."""
        self._send(signal.SIGSTOP)
        try:
            yield
        finally:
            self._send(signal.SIGCONT)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Their processor time in this block is added up."""
        used, began = self._used(), monotonic()
        yield
        self.cpu_seconds += self._used() - used
        self.seconds += monotonic() - began

    def _used(self) -> float:
        times = [process.cpu_times() for process in self.processes]
        return sum(time.user + time.system for time in times)

    def _send(self, number: signal.Signals) -> None:
        for process in self.processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)


def block() -> float:
    """The 10 % quantile of the seconds of a product, over BLOCK_SECONDS."""
    one, steps = np.random.default_rng(1).random((SIZE, SIZE), dtype=np.float32), []
    sleep(SETTLING_SECONDS)
    until = perf_counter() + BLOCK_SECONDS
    while (began := perf_counter()) < until:
        one @ one
        steps.append(perf_counter() - began)
    return float(np.quantile(steps, 0.1))


def sides(daemons: Daemons) -> dict[str, Callable[[], float]]:
    """What is measured in each round."""

    def running() -> float:
        with daemons.counted():
            return block()

    def stopped() -> float:
        with daemons.stopped():
            return block()

    return {WITH: running, WITHOUT: stopped, AGAIN: stopped}


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--rounds", type=int, default=60)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        network = Network(Path(folder))
        try:
            network.make()
            with ENGINES[asked.engine](network):
                sleep(BEFORE_SECONDS)
                _show(asked.engine, Daemons(network.processes(HOSTS[0])), asked.rounds)
        finally:
            network.remove()


def _show(engine: str, daemons: Daemons, rounds: int) -> None:
    before = os.getloadavg()[0]
    found = interleaved(sides(daemons), rounds)
    cpu = 100 * daemons.cpu_seconds / daemons.seconds
    print(f"{engine}: {len(daemons.processes)} processes, {daemons.rss_bytes / 2**20:.0f} MiB, {cpu:.2f} % of a core")
    print(f"a product takes {1e3 * median(found[WITH]):.2f} ms; load {before:.1f} to {os.getloadavg()[0]:.1f}")
    print(f"with / without: {median_ratio(found[WITH], found[WITHOUT])}")
    print(f"null, without / without: {median_ratio(found[AGAIN], found[WITHOUT])}")


if __name__ == "__main__":
    main()
