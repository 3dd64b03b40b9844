"""Bisections over ten releases of a PyTorch of our own, of which one brings more arithmetic in each step.

    python -m tests.characteristics.bisections --tries 20                # on a quiet machine
    python -m tests.characteristics.bisections --tries 20 --neighbours   # a process that computes on each core
    python -m tests.characteristics.bisections --page

A try is one ``dlbench bisect`` as a user would start it: pip lists the releases, each has an environment of its own,
and one small network is trained in pairs of the first release with others, on one thread. The release that brings 5 %
is another one in each try, from the second one to the last; the tolerance is half of it. Each try is appended to
bisections.jsonl as soon as it ends, and counts towards --tries when the same command is given again: it can be cut at
any time. All are written as a table into docs/explanation/error-rates.md.

An environment is built in the first try that compares its release, as a user's would be.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from time import monotonic
from typing import Any

import msgspec

from pytest_dlbench.running.hosts.local import THIS_MACHINE
from pytest_dlbench.storing.journal import Entry, read_journal
from tests.characteristics.lines import append, lines
from tests.characteristics.load import neighbours
from tests.doubles import pytorch_released
from tests.environments.wheels import write_wheel
from tests.figures import DOCS, heading, row, wrapped, write

COMMAND = "python -m tests.characteristics.bisections"
FILE, PAGE = Path(__file__).with_name("bisections.jsonl"), DOCS / "explanation" / "error-rates.md"
ROOT = Path(__file__).parents[2]
WHEELS = Path(".dlbench") / pytorch_released.PACKAGE

RELEASES = 10
PLANTED = 0.05
TOLERANCE = PLANTED / 2
CASE = "gatech-theano-mnist-digits28-cpu"
# Batches of 8 make 80 steps at this scale, enough for a pair.
USUAL = ("--scale=smoke", "--set=batch_size=8", "--threads=1", "--allow=invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """One search: ``first`` is the release that brings ``planted``, ``found`` those that it names as the first bad one.

    ``answers`` has what it said of each release that it compared, ``pairs`` the number of them all. ``load`` is that of
    the last minute, in CPUs.
    """

    planted: float
    tolerance: float
    neighbours: int
    releases: int
    first: str
    found: list[str]
    answers: dict[str, str]
    pairs: int
    began: str
    minutes: float
    load: float
    machine: str
    version: str
    """PyTorch's."""

    @property
    def is_right(self) -> bool:
        """Whether it names that release and no other one."""
        return self.found == [self.first]

    @property
    def is_wrong(self) -> bool:
        """Whether that release is not even among those that it names; if it names none, it has not decided."""
        return bool(self.found) and self.first not in self.found


def command() -> tuple[str, ...]:
    """The words of a search; what is planted in which release is in the environment."""
    program = Path(sys.executable).with_name("dlbench")
    ends = ("--good=1.0", f"--bad={RELEASES}.0")
    options = (*USUAL, f"--tolerance={TOLERANCE:.1%}", "-p", "tests.doubles.pytorch_released", "--json")
    return (str(program), "bisect", pytorch_released.NAME, CASE, *ends, *options)


def surroundings(first: int) -> dict[str, str]:
    """The environment of a search whose first bad release is this one."""
    # In addition to where the user's own packages come from, perhaps PyTorch's build for processors.
    links = f"{WHEELS.resolve()} {os.environ.get('PIP_FIND_LINKS', '')}".strip()
    return {**os.environ, "PLANTED": f"{PLANTED} from {first}", "PIP_FIND_LINKS": links}


def bisection(first: int, count: int) -> Bisection:
    """One search, with ``count`` neighbours."""
    began, date = monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory() as folder, neighbours(count):
        words = (*command(), f"--journals={folder}")
        done = subprocess.run(words, check=False, env=surroundings(first), cwd=ROOT, stdout=subprocess.PIPE)
        load = os.getloadavg()[0]
        runs = [
            entry.run
            for path in Path(folder).glob("*.jsonl")
            for entry in read_journal(path)
            if isinstance(entry, Entry) and entry.run
        ]
    answer: dict[str, Any] = msgspec.json.decode(done.stdout) if done.stdout else {}
    return Bisection(
        planted=PLANTED,
        tolerance=TOLERANCE,
        neighbours=count,
        releases=RELEASES,
        first=f"{first}.0",
        found=answer.get("first_bad", []),
        answers={one["version"]: one["answer"] for one in answer.get("asked", [])[1:]},
        pairs=len(runs) // 2,
        began=date,
        minutes=(monotonic() - began) / 60,
        load=load,
        machine=f"{THIS_MACHINE.machine.cores} cores of {THIS_MACHINE.machine.cpu_model}",
        version=next((run.versions["torch"] for run in runs if run.versions), ""),
    )


def summary(tries: list[Bisection]) -> Iterator[str]:
    """A table with a line for each kind of machine, or that there is none."""
    if not tries:
        yield "No bisection has been recorded yet."
        return
    dates, machines, versions = (
        sorted({getattr(one, name) for one in tries}) for name in ("began", "machine", "version")
    )
    yield from wrapped(
        f"A small network of PyTorch {', '.join(versions)} in {RELEASES} releases, on {', '.join(machines)}, from"
        f" {dates[0][:10]} to {dates[-1][:10]}:"
    )
    names = ("change", "neighbours", "tolerance", "tries", "right", "undecided", "wrong", "comparisons", "pairs")
    yield from heading(*names, "minutes", "longest", "load")
    for count in sorted({one.neighbours for one in tries}):
        alike = [one for one in tries if one.neighbours == count]
        right, wrong = sum(one.is_right for one in alike), sum(one.is_wrong for one in alike)
        yield row(
            *(f"+{PLANTED:.0%}", str(count), f"{TOLERANCE:.1%}", str(len(alike))),
            *(f"{right} of {len(alike)}", str(len(alike) - right - wrong), str(wrong)),
            f"{fmean(len(one.answers) for one in alike):.1f}",
            f"{fmean(one.pairs for one in alike):.0f}",
            f"{median(one.minutes for one in alike):.1f}",
            f"{max(one.minutes for one in alike):.1f}",
            f"{fmean(one.load for one in alike):.1f}",
        )


def main() -> int:
    """Make the searches that are missing, or summarise those that there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=20, help="How many of this kind there are to be [20].")
    parser.add_argument("--neighbours", action="store_true", help="A process that computes on each core.")
    parser.add_argument("--page", action="store_true", help="Only write the table again, of what was kept.")
    asked = parser.parse_args()
    count = (os.cpu_count() or 1) if asked.neighbours else 0
    for number in range(1, RELEASES + 1):
        write_wheel(WHEELS, pytorch_released.PACKAGE.replace("-", "_"), f"{number}.0")
    while not asked.page and (done := [one.neighbours for one in lines(FILE, Bisection)].count(count)) < asked.tries:
        append(FILE, bisection(2 + done % (RELEASES - 1), count))
        write(PAGE, COMMAND, summary(lines(FILE, Bisection)))
    write(PAGE, COMMAND, summary(lines(FILE, Bisection)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
