"""How the efficiency of two workers falls with the link between their hosts: ``python -m tests.cluster.links``.

Two hosts are network namespaces of this machine, with SLURM. What each of them sends is limited by tc, or delayed by
delaying.py. In every round, one worker trains alone, and two do over each link. Needs root, tc, SLURM and munge, and
PyTorch (dlbench env build pytorch).
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import Place, Places
from pytest_dlbench.records import Run, RunOutcome
from tests.cluster.conftest import HOSTS, Network, start_driver
from tests.cluster.sessions import printed_runs
from tests.cluster.slurm import Slurm
from tests.running.specs import CLASSES

UNITS, STEPS = 1024, 24
INPUTS = 20
# The machine may be busy with other things.
TIMEOUT_SECONDS = 300
SINGLE_BYTES = 4
ALONE, FREE = "one worker", "no limit"
# An all-reduce is two phases, in each of which the workers wait for one message of the other.
MESSAGES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What limits a link: bits per second, or seconds that each message takes."""

    bits_per_second: float = 0.0
    delay_seconds: float = 0.0

    @property
    def words(self) -> tuple[str, ...]:
        """For tc."""
        if not self.bits_per_second:
            return ()
        # A burst is two segments of TCP, and nothing is dropped: a lost segment would be another effect.
        return ("tbf", "rate", f"{self.bits_per_second:.0f}bit", "burst", "128kb", "limit", "64mb")

    def exchange_seconds(self, gradient_bytes: int) -> float:
        """What an exchange adds to a step: each worker sends as many bytes as the gradients have."""
        sent = 8 * gradient_bytes / self.bits_per_second if self.bits_per_second else 0.0
        return sent + MESSAGES * self.delay_seconds


LINKS: Mapping[str, Link] = {
    FREE: Link(),
    "1 Gbit/s": Link(bits_per_second=1e9),
    "100 Mbit/s": Link(bits_per_second=1e8),
    "1 ms": Link(delay_seconds=1e-3),
    "10 ms": Link(delay_seconds=1e-2),
}


def gradient_bytes(units: int) -> int:
    """The size of all gradients of a network with two hidden layers."""
    sizes = (INPUTS, units, units, CLASSES)
    return SINGLE_BYTES * sum((size + 1) * following for size, following in pairwise(sizes))


@contextmanager
def limited(network: Network, link: Link) -> Iterator[None]:
    """Both hosts send over this link in this block."""
    try:
        for host in HOSTS:
            network.limit(host, *link.words)
        with network.delayed(link.delay_seconds) if link.delay_seconds else nullcontext():
            yield
    finally:
        for host in HOSTS:
            network.limit(host)


def step_seconds(run: Run) -> float:
    """The median step after the first."""
    assert run.outcome is RunOutcome.FINISHED, run.message
    assert run.training
    return median(run.training.step_seconds[1:])


def main() -> None:
    """Print a row for each link."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--links", default=",".join(LINKS), help="Separated by commas [all].")
    asked = parser.parse_args()
    place = Places().find(FRAMEWORKS["pytorch"])
    assert isinstance(place, Place), place
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        network = Network(Path(folder))
        slurm = Slurm(network)
        try:
            network.make()
            slurm.start()
            names = dict.fromkeys((FREE, *asked.links.split(",")))
            _show(_measured(network, str(place.python), list(names), asked.rounds))
        finally:
            slurm.stop()
            network.remove()


def _measured(network: Network, python: str, names: Sequence[str], rounds: int) -> Mapping[str, Sequence[float]]:
    """The median steps of all rounds, of one worker and of two over each link."""

    # Late: it needs pytest-benchmark, which the tests of clusters do without.
    from tests.perf.pairs import interleaved  # noqa: PLC0415

    def one(link: Link, workers: int) -> float:
        case = {"python": python, "workers": workers, "hosts": workers, "units": UNITS, "steps": STEPS}
        case["timeout"] = TIMEOUT_SECONDS
        with limited(network, link), start_driver(network, network.folder, "srun", "pytorch", **case) as started:
            (run,) = printed_runs(started)
        return step_seconds(run)

    sides = {name: (lambda name=name: one(LINKS[name], 2)) for name in names}
    return interleaved({ALONE: lambda: one(LINKS[FREE], 1), **sides}, rounds)


def _show(found: Mapping[str, Sequence[float]]) -> None:
    size = gradient_bytes(UNITS)
    print(f"gradients: {size / 2**20:.2f} MiB; one worker: {_ms(found[ALONE])}; {len(found[ALONE])} rounds")
    free = median(found[FREE])
    for name, steps in found.items():
        if name == ALONE:
            continue
        predicted = free + LINKS[name].exchange_seconds(size)
        efficiencies = [one / (2 * two) for one, two in zip(found[ALONE], steps, strict=True)]
        expected = median(found[ALONE]) / (2 * predicted)
        measured = f"{100 * median(efficiencies):.1f} % [{100 * min(efficiencies):.1f}, {100 * max(efficiencies):.1f}]"
        print(f"{name:>10}: step {1e3 * predicted:.0f} ms predicted, {_ms(steps)} measured;", end=" ")
        print(f"efficiency {100 * expected:.1f} % predicted, {measured} measured")


def _ms(seconds: Sequence[float]) -> str:
    return f"{1e3 * median(seconds):.0f} ms [{1e3 * min(seconds):.0f}, {1e3 * max(seconds):.0f}]"


if __name__ == "__main__":
    main()
