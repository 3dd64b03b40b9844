"""The gate on whole version bumps of this machine: eight small cases of PyTorch against itself, again and again.

    python -m tests.characteristics.bumps --bumps 20                        # unchanged
    python -m tests.characteristics.bumps --bumps 20 --planted 0.05         # 5 % more arithmetic in one of eight
    python -m tests.characteristics.bumps --bumps 20 --planted 0.03 --alone # in the only case
    python -m tests.characteristics.bumps --bumps 20 --planted 0.05 --in 8  # in the case with batches of 8
    python -m tests.characteristics.bumps --bumps 20 --neighbours           # a process that computes on each core
    python -m tests.characteristics.bumps --page

A bump is one session of pytest: two networks at four batch sizes, or one of these cases alone, scale smoke (10 to 80
steps a side) or another one, one thread. It passes if all of its cases do; with something planted, it is right if that
case regressed and no other one did. Each bump is appended to bumps.jsonl as soon as it ends, and counts towards --bumps
when the same command is given again: it can be cut at any time. All are written as a table into
docs/explanation/error-rates.md.

With --earlier 10, ten runs of each case of the baseline are made first, once for each scale, as a user would have them
from a session with --dlbench-runs=10.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from time import monotonic

from pytest_dlbench.model import infer
from pytest_dlbench.records import CaseOutcome, CaseResult, VerdictOutcome
from pytest_dlbench.running.hosts.local import THIS_MACHINE
from pytest_dlbench.storing.recorded import read
from pytest_dlbench.zoo import MODELS as KNOWN_MODELS
from tests.characteristics.lines import append, lines
from tests.characteristics.load import neighbours
from tests.figures import DOCS, heading, row, wrapped, write

COMMAND = "python -m tests.characteristics.bumps"
FILE, PAGE = Path(__file__).with_name("bumps.jsonl"), DOCS / "explanation" / "error-rates.md"

BENCH = Path(__file__).parents[2] / "bench" / "test_training.py"
# Small ones, so that a pair takes seconds; their numbers of layers differ, by which the builder knows them.
MODELS = ("gatech-lenet", "gatech-theano-mnist")
# With batches of 8, the first network diverges in the longer trainings of scale quick.
BATCH_SIZES = {"smoke": (8, 16, 32, 64), "quick": (16, 32, 64, 128)}
PLANTED_IN = MODELS[1]
# Other load on the machine is part of the measurement.
USUAL = ("-q", "-p", "tests.doubles.pytorch_planted", "--dlbench-allow=invalid", "--dlbench-threads=1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bump:
    """One session: how its cases ended, and what it took.

    ``earlier`` are the runs of each case of the baseline that it knew, ``cases`` the number of cases asked for.
    ``pairs`` has the pairs of each case, ``open`` the metrics that left one undecided, ``load`` is that of the last
    five minutes, in CPUs.
    """

    planted: float
    neighbours: int
    tolerance: float
    scale: str
    earlier: int
    cases: int
    began: str
    outcomes: dict[str, str]
    pairs: dict[str, int]
    open: dict[str, list[str]]
    minutes: float
    load: float
    machine: str
    version: str
    """PyTorch's."""
    planted_in: int = 32
    """The batch size of the case that may have more arithmetic."""

    @property
    def kind(self) -> tuple[float, int, float, str, int, int, int]:
        """What bumps have in common that are counted together."""
        return key(self)

    @property
    def passes(self) -> bool:
        """Whether a continuous integration would let it through."""
        passing = {CaseOutcome.PASSED, CaseOutcome.IMPROVED}
        return len(self.outcomes) == self.cases and set(self.outcomes.values()) <= passing

    @property
    def found(self) -> bool:
        """Whether what was planted is a regression."""
        cases = self.outcomes.items()
        return any(is_planted(name, self.planted_in) and said == CaseOutcome.REGRESSED for name, said in cases)

    @property
    def false_alarms(self) -> int:
        """Cases in which nothing was planted and that regressed."""
        cases = self.outcomes.items()
        unchanged = (said for name, said in cases if not (self.planted and is_planted(name, self.planted_in)))
        return sum(said == CaseOutcome.REGRESSED for said in unchanged)


def is_planted(case: str, batch_size: int) -> bool:
    """Whether this is the case that may have more arithmetic, which has this batch size."""
    return f"-{PLANTED_IN}-" in case and f"-batch_size{batch_size}-" in case


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is asked for: ``earlier`` runs are in the folder ``known``, if there are any.

    ``is_alone``: of the eight cases, only the one that may have more arithmetic.
    """

    planted: float
    neighbours: int
    tolerance: float
    scale: str
    earlier: int
    known: Path
    is_alone: bool
    planted_in: int

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the networks."""
        return (PLANTED_IN,) if self.is_alone else MODELS

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """Those of each network."""
        return (self.planted_in,) if self.is_alone else BATCH_SIZES[self.scale]

    @property
    def cases(self) -> int:
        """Their number."""
        return len(self.models) * len(self.batch_sizes)


def key(of: Bump | Kind) -> tuple[float, int, float, str, int, int, int]:
    """What distinguishes kinds of bumps; it is irrelevant which case nothing is planted in."""
    return of.planted, of.neighbours, of.tolerance, of.scale, of.earlier, of.cases, of.planted_in if of.planted else 0


def command(kind: Kind, folder: Path) -> tuple[str, ...]:
    """A session of the cases, with its journals in a folder."""
    return (
        *(sys.executable, "-m", "pytest", str(BENCH), *USUAL),
        f"--dlbench-models={','.join(kind.models)}",
        f"--dlbench-set=batch_size={','.join(map(str, kind.batch_sizes))}",
        f"--dlbench-scale={kind.scale}",
        f"--dlbench-journals={folder}",
    )


def run(words: tuple[str, ...], planted: float, batch_size: int) -> None:
    """Run a session; its outcome is in its journal."""
    layers = infer(KNOWN_MODELS[PLANTED_IN]).as_json()["layers"]
    environment = {**os.environ, "PLANTED": f"{planted} in {len(layers)}-{batch_size}"}
    subprocess.run(words, check=False, env=environment, stdout=subprocess.DEVNULL)


def with_earlier(kind: Kind) -> None:
    """Make the earlier runs of all cases of the baseline, unless they are there."""
    if kind.earlier and not list(kind.known.glob("*.jsonl")):
        words = ("--dlbench-frameworks=pytorch", f"--dlbench-runs={kind.earlier}")
        with tempfile.TemporaryDirectory() as folder:
            run((*command(replace(kind, is_alone=False), Path(folder)), *words), 0.0, kind.planted_in)
            kind.known.mkdir(parents=True, exist_ok=True)
            for path in Path(folder).glob("*.jsonl"):
                shutil.move(path, kind.known / path.name)


def bump(kind: Kind) -> Bump:
    """One session, which knows no other one than that of the earlier runs."""
    began, date = monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    words = (
        "--dlbench-ab=pytorch,pytorch-planted",
        f"--dlbench-tolerance=step_time:{100 * kind.tolerance:g}%",
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = {Path(shutil.copy(path, folder)) for path in kind.known.glob("*.jsonl")} if kind.earlier else set()
        with neighbours(kind.neighbours):
            run((*command(kind, folder), *words), kind.planted, kind.planted_in)
            load = os.getloadavg()[1]
        recorded = read(sorted(set(folder.glob("*.jsonl")) - before)).cases
    cases = [case.result for case in recorded]
    return Bump(
        planted=kind.planted,
        neighbours=kind.neighbours,
        tolerance=kind.tolerance,
        scale=kind.scale,
        earlier=kind.earlier,
        cases=kind.cases,
        began=date,
        outcomes={case.case.id: case.outcome.value for case in cases},
        pairs={case.case.id: case.pairing.screened + case.pairing.confirmed for case in cases if case.pairing},
        open={case.case.id: undecided(case) for case in cases if case.outcome is CaseOutcome.INCONCLUSIVE},
        minutes=(monotonic() - began) / 60,
        load=load,
        machine=f"{THIS_MACHINE.machine.cores} cores of {THIS_MACHINE.machine.cpu_model}",
        version=next((run.versions["torch"] for case in recorded for run in case.record.runs if run.versions), ""),
        planted_in=kind.planted_in,
    )


def undecided(case: CaseResult) -> list[str]:
    """The metrics that leave a case open."""
    return [one.metric for one in case.verdicts if one.decides and one.outcome is VerdictOutcome.INCONCLUSIVE]


def summary(bumps: list[Bump]) -> Iterator[str]:
    """A table with a line for each kind of bump, or that there is none."""
    if not bumps:
        yield "No bump has been recorded yet."
        return
    dates, machines, versions = (
        sorted({getattr(one, name) for one in bumps}) for name in ("began", "machine", "version")
    )
    yield from wrapped(
        f"Small cases of PyTorch {', '.join(versions)} against itself, on {', '.join(machines)}, from"
        f" {dates[0][:10]} to {dates[-1][:10]}:"
    )
    names = ("change", "neighbours", "tolerance", "scale", "earlier runs", "cases", "bumps", "right", "false alarms")
    yield from heading(*names, "open cases", "pairs a case", "minutes", "load")
    for kind in sorted({one.kind for one in bumps}):
        alike = [one for one in bumps if one.kind == kind]
        planted, count, tolerance, scale, earlier, cases, batch_size = kind
        right = [one.found and not one.false_alarms if planted else one.passes for one in alike]
        yield row(
            *(f"+{planted:.0%} at batch {batch_size}" if planted else "unchanged", str(count)),
            *(f"{tolerance:.1%}", scale),
            *(str(earlier), str(cases), str(len(alike)), f"{sum(right)} of {len(alike)}"),
            str(sum(one.false_alarms for one in alike)),
            f"{fmean(len(one.open) for one in alike):.1f}",
            f"{fmean(pairs for one in alike for pairs in one.pairs.values()):.1f}",
            f"{median(one.minutes for one in alike):.1f}",
            f"{fmean(one.load for one in alike):.1f}",
        )


def main() -> int:
    """Run the bumps that are missing, or summarise those that there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bumps", type=int, default=20, help="How many of this kind there are to be [20].")
    parser.add_argument("--planted", type=float, default=0.0, help="Share of a step; the tolerance is half of it.")
    parser.add_argument("--in", type=int, default=32, dest="planted_in", help="The batch size of that case [32].")
    parser.add_argument("--neighbours", action="store_true", help="A process that computes on each core.")
    parser.add_argument("--scale", choices=BATCH_SIZES, default="smoke", help="How long each case trains [smoke].")
    parser.add_argument("--earlier", type=int, default=0, help="Earlier runs of the baseline's cases [0].")
    parser.add_argument("--alone", action="store_true", help="Only the case in which something is planted, of eight.")
    parser.add_argument("--page", action="store_true", help="Only write the table again, of what was kept.")
    asked = parser.parse_args()
    kind = Kind(
        planted=asked.planted,
        neighbours=(os.cpu_count() or 1) if asked.neighbours else 0,
        tolerance=asked.planted / 2 or 0.05,
        scale=asked.scale,
        earlier=asked.earlier,
        known=Path(".dlbench") / f"bumps-earlier-{asked.scale}-{asked.earlier}",
        is_alone=asked.alone,
        planted_in=asked.planted_in,
    )
    while not asked.page and [one.kind for one in lines(FILE, Bump)].count(key(kind)) < asked.bumps:
        with_earlier(kind)
        append(FILE, bump(kind))
        write(PAGE, COMMAND, summary(lines(FILE, Bump)))
    write(PAGE, COMMAND, summary(lines(FILE, Bump)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
