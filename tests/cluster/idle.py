"""What the daemons of an engine cost a host on which they do nothing: ``python -m tests.cluster.idle``.

In every round, a matrix product is repeated on all processors for a second with the daemons of the host running, and
twice with them stopped (SIGSTOP), in all orders; the second time without them is the null. Their own processor time is
read from the kernel. The daemons of the cluster's head, which are not on measured hosts, run all the time. The result
is kept in idle.json, and a table written where docs/how-to/cluster.md has a place for it.
"""

import argparse
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, sleep

import numpy as np
import psutil

from tests import figures
from tests.cluster.conftest import HEAD, HOSTS, Network, made_network
from tests.cluster.slurm import Slurm
from tests.figures import DOCS, Conditions, heading, row, wrapped
from tests.perf.pairs import interleaved, median_ratio

COMMAND = "python -m tests.cluster.idle"
FILE, PAGE = Path(__file__).with_name("idle.json"), DOCS / "how-to" / "cluster.md"
TITLES = {"ray": "Ray", "slurm": "SLURM"}
WITH, WITHOUT, AGAIN = "with", "without", "without again"
BLOCK_SECONDS, SETTLING_SECONDS = 1.0, 0.2
SIZE = 384
# After they are started, daemons are busy for a while.
BEFORE_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """The daemons of a host that does nothing: their cost in themselves, and to a product of matrices.

    ``fast`` are ratios of the 10 % quantiles of a product's seconds, with daemons and without, ``mean`` those of the
    means; each has a null, without daemons over without.
    """

    processes: int
    rss_bytes: int
    core_share: float
    product_seconds: float
    fast: str
    fast_null: str
    mean: str
    mean_null: str
    conditions: Conditions


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


def block() -> tuple[float, float]:
    """The seconds of a product over BLOCK_SECONDS: their 10 % quantile, by which steps are judged, and their mean."""
    one, steps = np.random.default_rng(1).random((SIZE, SIZE), dtype=np.float32), []
    sleep(SETTLING_SECONDS)
    until = perf_counter() + BLOCK_SECONDS
    while (began := perf_counter()) < until:
        one @ one
        steps.append(perf_counter() - began)
    return float(np.quantile(steps, 0.1)), float(np.mean(steps))


def sides(daemons: Daemons) -> dict[str, Callable[[], tuple[float, float]]]:
    """What is measured in each round."""

    def running() -> tuple[float, float]:
        with daemons.counted():
            return block()

    def stopped() -> tuple[float, float]:
        with daemons.stopped():
            return block()

    return {WITH: running, WITHOUT: stopped, AGAIN: stopped}


def measure(engine: str, rounds: int) -> Idle:
    """The daemons of a host, with nothing to do."""
    before = figures.load()
    with made_network() as network, ENGINES[engine](network):
        sleep(BEFORE_SECONDS)
        return _measured(Daemons(network.processes(HOSTS[0])), rounds, before)


def _measured(daemons: Daemons, rounds: int, load_before: float) -> Idle:
    found = interleaved(sides(daemons), rounds)
    fast, mean = ({name: [block[place] for block in blocks] for name, blocks in found.items()} for place in (0, 1))
    return Idle(
        processes=len(daemons.processes),
        rss_bytes=daemons.rss_bytes,
        core_share=daemons.cpu_seconds / daemons.seconds,
        product_seconds=median(fast[WITHOUT]),
        fast=median_ratio(fast[WITH], fast[WITHOUT]),
        fast_null=median_ratio(fast[AGAIN], fast[WITHOUT]),
        mean=median_ratio(mean[WITH], mean[WITHOUT]),
        mean_null=median_ratio(mean[AGAIN], mean[WITHOUT]),
        conditions=figures.conditions(load_before),
    )


def lines(found: Mapping[str, Idle]) -> list[str]:
    """What the page says."""
    text = (
        f"A product of matrices of {SIZE} × {SIZE} on all processors was repeated for {BLOCK_SECONDS:g} s with the"
        " daemons of a host running, and twice with them stopped, in all orders; the second time without them is the"
        " null. Ratios are medians over pairs, with the 95 % interval of the bootstrap. The 10 % quantile is that by"
        " which steps are judged; the mean also has what interrupts some of them."
    )
    names = ("daemons of", "processes", "memory", "processor time", "10 % quantile, with / without", "null")
    return [
        *wrapped(text),
        *heading(*names, "mean, with / without", "null"),
        *(_row(engine, one) for engine, one in sorted(found.items())),
        "",
        *wrapped(" ".join(_condition(engine, one) for engine, one in sorted(found.items()))),
    ][:-1]


def _row(engine: str, found: Idle) -> str:
    memory, share = f"{found.rss_bytes / 2**20:.0f} MiB", f"{100 * found.core_share:.2f}% of a core"
    ratios = (found.fast, found.fast_null, found.mean, found.mean_null)
    return row(TITLES[engine], str(found.processes), memory, share, *(ratio.partition(" (")[0] for ratio in ratios))


def _condition(engine: str, found: Idle) -> str:
    pairs = found.fast.partition("(")[2].rstrip(")")
    product = f"a product took {1e3 * found.product_seconds:.2f} ms"
    return f"{TITLES[engine]}: {pairs} on {found.conditions}; {product}."


def main() -> None:
    """Measure, keep and write a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", nargs="?", choices=ENGINES, help="Both if it is not given.")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--page", action="store_true", help="Only write the table again, of what was kept.")
    asked = parser.parse_args()
    found = figures.kept(FILE, dict[str, Idle]) if FILE.exists() else {}
    if not asked.page:
        for engine in [asked.engine] if asked.engine else ENGINES:
            found[engine] = measure(engine, asked.rounds)
            figures.keep(FILE, found)
    figures.write(PAGE, COMMAND, lines(found))


if __name__ == "__main__":
    main()
