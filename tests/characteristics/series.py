"""Series of real pairs of this machine, a framework against itself: noise that nobody assumed, for the simulation.

    python -m tests.characteristics.series FILE                                  # steps alternate
    python -m tests.characteristics.series FILE --sequential                     # runs back to back
    python -m tests.characteristics.series FILE --neighbours                     # a process that computes on each core
    python -m tests.characteristics.series FILE --summary

Nothing stops early: each framework takes all its pairs with one thread, as the session would take them. Each pair is
appended to FILE as a line as soon as it ends. tests/characteristics/series.jsonl has those that regimes.py draws from.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from math import log
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal

from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.judging.alternation import cpu_ratio, wall_ratio
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.planning.plan import RunSettings, synthetic_for
from pytest_dlbench.records.reasons import SequentialPairs
from pytest_dlbench.running.hosts.local import THIS_MACHINE
from pytest_dlbench.running.pairs import Pairs
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.run_hooks import NO_HOOKS
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.zoo import MODELS
from tests.characteristics.lines import append, lines
from tests.characteristics.load import neighbours
from tests.figures import heading, row

FILE = Path(__file__).with_name("series.jsonl")
MODEL = MODELS["gatech-lenet"]
STEPS = 60
Design = Literal["sequential", "alternating"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One pair: step times in seconds, and where steps alternated the two differences ln(second / first) of its steps.

    ``began`` is that of its series. ``load`` is that of the last minute, in CPUs.
    """

    framework: str
    version: str
    machine: str
    design: Design
    neighbours: int
    began: str
    first_seconds: float
    second_seconds: float
    wall: float | None
    cpu: float | None
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Consecutive pairs of one framework.

    ``seconds`` are log step times of all runs in their order, two of each pair; ``wall`` and ``cpu`` the differences
    ln(second / first) of steps that alternated, none of runs back to back.
    """

    framework: str
    seconds: tuple[float, ...]
    wall: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()


def recorded(design: Design, *, is_quiet: bool, file: Path = FILE) -> tuple[Series, ...]:
    """The series of a file in which pairs were made this way."""
    chosen = [one for one in lines(file, Measured) if one.design == design and (one.neighbours == 0) == is_quiet]
    return tuple(
        Series(
            framework=framework,
            seconds=tuple(log(seconds) for one in pairs for seconds in (one.first_seconds, one.second_seconds)),
            wall=tuple(one.wall for one in pairs if one.wall is not None),
            cpu=tuple(one.cpu for one in pairs if one.cpu is not None),
        )
        for (framework, _), found in groupby(chosen, key=lambda one: (one.framework, one.began))
        for pairs in [list(found)]
    )


def measure(framework: str, design: Design, pairs: int, count: int) -> Iterator[Measured]:
    """The pairs of a series, as each of them ends, with ``count`` neighbours."""
    settings = RunSettings(machine=THIS_MACHINE.machine, scale="smoke", threads=1, seed=1, timeout_seconds=600.0)
    spec = settings.spec(FRAMEWORKS[framework], MODEL, synthetic_for(MODEL), DEVICES["cpu"], steps=STEPS)
    began = datetime.now(UTC).isoformat(timespec="seconds")
    made = _pairs(spec, pairs)
    if design == "sequential":
        made.sequential = SequentialPairs(cause="loop")
    time = METRICS["step_time"]
    with neighbours(count), made.alone():
        for _ in range(pairs):
            old, new = made.next()
            first, second = (new, old) if made.candidate_first[-1] else (old, new)
            alternates = made.sequential is None
            yield Measured(
                framework=framework,
                version=old.versions.get(FRAMEWORKS[framework].package, ""),
                machine=f"{THIS_MACHINE.machine.cores} cores of {THIS_MACHINE.machine.cpu_model}",
                design="alternating" if alternates else "sequential",
                neighbours=count,
                began=began,
                first_seconds=time.figure(first),
                second_seconds=time.figure(second),
                wall=wall_ratio(first, second) if alternates else None,
                cpu=cpu_ratio(first, second) if alternates else None,
                load=os.getloadavg()[0],
            )


def _pairs(spec: NetworkSpec, pairs: int) -> Pairs:
    return Pairs(
        baseline=spec,
        candidate=spec,
        hooks=NO_HOOKS,
        keep=lambda *_: None,
        progress=Silent(),
        limit=pairs,
        # What else the machine does is part of the noise.
        examine=lambda _, run: run,
        repeats=0,
        keeps_invalid=True,
        recorded=lambda *_: None,
        order_seed=1,
    )


def summary(measured: Sequence[Measured]) -> Iterator[str]:
    """A table with a line for each series: how far its pairs are apart."""
    names = (
        "framework",
        "pairs",
        "design",
        "neighbours",
        "second to first",
        "sd of a pair",
        "of processor time",
        "load",
    )
    yield from heading(*names)
    for _, found in groupby(measured, key=lambda one: (one.framework, one.design, one.neighbours, one.began)):
        pairs = list(found)
        one = pairs[0]
        walls = [log(pair.second_seconds / pair.first_seconds) if pair.wall is None else pair.wall for pair in pairs]
        cpus = [pair.cpu for pair in pairs if pair.cpu is not None]
        yield row(
            *(f"{one.framework} {one.version}".strip(), str(len(pairs)), one.design, str(one.neighbours)),
            *(f"{fmean(walls):+.2%}", f"{stdev(walls):.2%}", f"{stdev(cpus):.2%}" if cpus else "–"),
            f"{fmean(pair.load for pair in pairs):.1f}",
        )


def main() -> int:
    """Record series, or summarise those that there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE", help="Lines of pairs; new ones are appended.")
    parser.add_argument("--pairs", type=int, default=40, help="Pairs of each framework [40].")
    parser.add_argument("--frameworks", default="pytorch,jax", help="One after the other [pytorch,jax].")
    parser.add_argument("--sequential", action="store_true", help="Runs back to back in place of alternating steps.")
    parser.add_argument("--neighbours", action="store_true", help="A process that computes on each core.")
    parser.add_argument("--summary", action="store_true", help="Only print a table of the file.")
    asked = parser.parse_args()
    design: Design = "sequential" if asked.sequential else "alternating"
    count = (os.cpu_count() or 1) if asked.neighbours else 0
    for framework in [] if asked.summary else asked.frameworks.split(","):
        for one in measure(framework, design, asked.pairs, count):
            append(asked.file, one)
    print("\n".join(summary(lines(asked.file, Measured))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
