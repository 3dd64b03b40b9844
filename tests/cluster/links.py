"""How the efficiency of two workers falls with the link between their hosts: ``python -m tests.cluster.links``.

Two hosts are network namespaces of this machine, with SLURM. What each of them sends is limited by tc, or delayed by
delaying.py. In every round, one worker trains alone, and two do over each link. The result is kept in links.json, and
a table written where docs/how-to/cluster.md has a place for it. Needs root, tc, SLURM and munge, and PyTorch (dlbench
env build pytorch).
"""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import Place, Places
from pytest_dlbench.records import Run, RunOutcome
from tests import figures
from tests.cluster.conftest import HOSTS, Network, made_network, start_driver
from tests.cluster.sessions import printed_runs
from tests.cluster.slurm import Slurm
from tests.figures import DOCS, Conditions, heading, row, wrapped
from tests.running.specs import CLASSES

COMMAND = "python -m tests.cluster.links"
FILE, PAGE = Path(__file__).with_name("links.json"), DOCS / "how-to" / "cluster.md"
# A step takes about as long as sending the gradients at 500 Mbit/s does, so that every link matters.
UNITS, BATCH, STEPS = 1024, 640, 24
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
    "1 Gbit/s, 1 ms": Link(bits_per_second=1e9, delay_seconds=1e-3),
    "100 Mbit/s, 10 ms": Link(bits_per_second=1e8, delay_seconds=1e-2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The median steps in seconds, of each round, of one worker alone and of two over each link."""

    framework: str
    gradient_bytes: int
    batch: int
    conditions: Conditions
    steps: Mapping[str, tuple[float, ...]]

    def predicted_seconds(self, name: str) -> float:
        """The step over a link: that without a limit, and what the link adds."""
        return median(self.steps[FREE]) + LINKS[name].exchange_seconds(self.gradient_bytes)

    def predicted_efficiency(self, name: str) -> float:
        """The speed-up over a link, divided by the number of workers."""
        return efficiency(median(self.steps[ALONE]), self.predicted_seconds(name))

    def efficiencies(self, name: str) -> list[float]:
        """The same, measured in each round."""
        return list(map(efficiency, self.steps[ALONE], self.steps[name]))


def efficiency(alone: float, together: float) -> float:
    """That of two workers, which divide a batch of which one worker alone has all."""
    return alone / (2 * together)


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


def lines(found: Measured) -> list[str]:
    """What the page says."""
    alone = found.steps[ALONE]
    text = (
        f"{found.framework}, one thread for each worker, a batch of {found.batch} and"
        f" {found.gradient_bytes / 2**20:.1f} MiB of gradients, with which one worker alone takes {_ms(alone)} for a"
        f" step. The hosts were network namespaces of one machine ({found.conditions}); {len(alone)} rounds,"
        " interleaved: medians, with the smallest and the largest in brackets."
    )
    names = ("link", "step, predicted", "step", "efficiency, predicted", "efficiency")
    return [*wrapped(text), *heading(*names), *(_row(found, name) for name in found.steps if name != ALONE)]


def _row(found: Measured, name: str) -> str:
    own = found.efficiencies(name)
    measured = f"{100 * median(own):.0f}% [{100 * min(own):.0f}, {100 * max(own):.0f}]"
    step = f"{1e3 * found.predicted_seconds(name):.0f} ms" if name != FREE else "–"
    predicted = f"{100 * found.predicted_efficiency(name):.0f}%" if name != FREE else "–"
    return row(name, step, _ms(found.steps[name]), predicted, measured)


def _ms(seconds: tuple[float, ...]) -> str:
    return f"{1e3 * median(seconds):.0f} ms [{1e3 * min(seconds):.0f}, {1e3 * max(seconds):.0f}]"


def main() -> None:
    """Measure, keep and write a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", action="store_true", help="Only write the table again, of what was kept.")
    asked = parser.parse_args()
    if not asked.page:
        figures.keep(FILE, measure(asked.rounds))
    figures.write(PAGE, COMMAND, lines(figures.kept(FILE, Measured)))


def measure(rounds: int) -> Measured:
    """One worker, and two over each link, on hosts that exist until then."""
    place = Places().find(FRAMEWORKS["pytorch"])
    assert isinstance(place, Place), place
    before = figures.load()
    with made_network() as network:
        slurm = Slurm(network)
        try:
            slurm.start()
            return _measured(network, str(place.python), rounds, before)
        finally:
            slurm.stop()


def _measured(network: Network, python: str, rounds: int, load_before: float) -> Measured:
    # Late: it needs pytest-benchmark, which the tests of clusters do without.
    from tests.perf.pairs import interleaved  # noqa: PLC0415

    names: set[str] = set()

    def one(link: Link, workers: int) -> float:
        run = trained(network, python, link, workers)
        names.add(f"PyTorch {run.versions['torch']}")
        return step_seconds(run)

    sides = {name: (lambda link=link: one(link, 2)) for name, link in LINKS.items()}
    steps = interleaved({ALONE: lambda: one(LINKS[FREE], 1), **sides}, rounds)
    return Measured(
        framework=", ".join(names),
        gradient_bytes=gradient_bytes(UNITS),
        batch=BATCH,
        conditions=figures.conditions(load_before),
        steps={name: tuple(found) for name, found in steps.items()},
    )


def trained(network: Network, python: str, link: Link, workers: int) -> Run:
    """A run of as many workers, each on a host of its own."""
    case = {"python": python, "workers": workers, "hosts": workers, "units": UNITS, "recipe": {"batch_size": BATCH}}
    limits = {"steps": STEPS, "timeout": TIMEOUT_SECONDS}
    with limited(network, link), start_driver(network, network.folder, "srun", "pytorch", **case, **limits) as started:
        (run,) = printed_runs(started)
    return run


if __name__ == "__main__":
    main()
