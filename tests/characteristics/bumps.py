"""The gate on whole version bumps of this machine: eight small cases of PyTorch against itself, again and again.

    python -m tests.characteristics.bumps --bumps 20                             # unchanged
    python -m tests.characteristics.bumps --bumps 20 --planted 0.05              # 5 % more arithmetic in one of eight
    python -m tests.characteristics.bumps --bumps 20 --neighbours                # a process that computes on each core

A bump is one session of pytest: four networks at two batch sizes, scale quick, one thread. It passes if all of its
cases do; with something planted, it is right if that case regressed and no other one did. The results in
docs/explanation/error-rates.md are from this. Each bump is a line of the output as soon as it ends; --summary reads
such lines.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from time import monotonic

import msgspec
import psutil

from pytest_dlbench.model import infer
from pytest_dlbench.records import CaseOutcome, CaseResult
from pytest_dlbench.storing.recorded import read
from pytest_dlbench.zoo import MODELS as KNOWN_MODELS

BENCH = Path(__file__).parents[2] / "bench" / "test_training.py"
# Small ones, so that a pair takes seconds; their numbers of layers differ, by which the builder knows them.
MODELS = ("gatech-lenet", "gatech-caffe-cifar10", "gatech-theano-mnist", "gatech-torch-mnist")
BATCH_SIZES = (16, 32)
PLANTED_IN = (MODELS[1], BATCH_SIZES[1])
COMPUTE = "while True: sum(range(10**6))"
# Other load on the machine is part of the measurement.
USUAL = ("-q", "-p", "tests.doubles.pytorch_planted", "--dlbench-allow=invalid", "--dlbench-threads=1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bump:
    """One session: how its cases ended, and what it took. ``pairs`` has the pairs of each case, ``load`` is in CPUs."""

    planted: float
    neighbours: int
    tolerance: float
    outcomes: dict[str, str]
    pairs: dict[str, int]
    minutes: float
    load: float

    @property
    def passes(self) -> bool:
        """Whether a continuous integration would let it through."""
        return len(self.outcomes) == len(MODELS) * len(BATCH_SIZES) and set(self.outcomes.values()) <= {
            CaseOutcome.PASSED,
            CaseOutcome.IMPROVED,
        }

    @property
    def found(self) -> bool:
        """Whether what was planted is a regression."""
        return any(is_planted(name) and said == CaseOutcome.REGRESSED for name, said in self.outcomes.items())

    @property
    def false_alarms(self) -> int:
        """Cases in which nothing was planted and that regressed."""
        unchanged = (said for name, said in self.outcomes.items() if not (self.planted and is_planted(name)))
        return sum(said == CaseOutcome.REGRESSED for said in unchanged)


def is_planted(case: str) -> bool:
    """Whether this is the case that may have more arithmetic."""
    model, batch_size = PLANTED_IN
    return f"-{model}-" in case and f"-batch_size{batch_size}-" in case


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """A process that computes on each of the first ``count`` cores."""
    started = []
    try:
        for core in range(count):
            process = subprocess.Popen([sys.executable, "-c", COMPUTE])
            started.append(process)
            psutil.Process(process.pid).cpu_affinity([core])
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def bump(folder: Path, planted: float, tolerance: float, count: int, *, is_short: bool) -> Bump:
    """One session."""
    before, began = set(folder.glob("*.jsonl")), monotonic()
    model, batch_size = PLANTED_IN
    command = (
        *(sys.executable, "-m", "pytest", str(BENCH), *USUAL),
        "--dlbench-ab=pytorch,pytorch-planted",
        f"--dlbench-models={','.join(MODELS)}",
        f"--dlbench-set=batch_size={','.join(map(str, BATCH_SIZES))}",
        f"--dlbench-tolerance=step_time:{100 * tolerance:g}%",
        f"--dlbench-scale={'smoke' if is_short else 'quick'}",
        f"--dlbench-journals={folder}",
    )
    layers = infer(KNOWN_MODELS[model]).as_json()["layers"]
    environment = {**os.environ, "PLANTED": f"{planted} in {len(layers)}-{batch_size}"}
    with neighbours(count):
        subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL)
        load = os.getloadavg()[1]
    cases: list[CaseResult] = [case.result for case in read(sorted(set(folder.glob("*.jsonl")) - before)).cases]
    return Bump(
        planted=planted,
        neighbours=count,
        tolerance=tolerance,
        outcomes={case.case.id: case.outcome.value for case in cases},
        pairs={case.case.id: case.pairing.screened + case.pairing.confirmed for case in cases if case.pairing},
        minutes=(monotonic() - began) / 60,
        load=load,
    )


def summary(bumps: list[Bump]) -> Iterator[str]:
    """A line of the documentation's table for each kind of bump."""
    kinds = sorted({(one.planted, one.neighbours, one.tolerance) for one in bumps})
    for planted, count, tolerance in kinds:
        alike = [one for one in bumps if (one.planted, one.neighbours, one.tolerance) == (planted, count, tolerance)]
        right = [one.found and not one.false_alarms if planted else one.passes for one in alike]
        open_cases = [list(one.outcomes.values()).count(CaseOutcome.INCONCLUSIVE) for one in alike]
        cells = (
            f"+{planted:.0%}" if planted else "unchanged",
            str(count),
            f"{tolerance:.1%}",
            str(len(alike)),
            f"{sum(right)} of {len(alike)}",
            str(sum(one.false_alarms for one in alike)),
            f"{fmean(open_cases):.1f}",
            f"{fmean(count for one in alike for count in one.pairs.values()):.1f}",
            f"{median(one.minutes for one in alike):.1f}",
            f"{fmean(one.load for one in alike):.1f}",
        )
        yield f"| {' | '.join(cells)} |"


def main() -> int:
    """Run the bumps, or summarise earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bumps", type=int, default=20)
    parser.add_argument("--planted", type=float, default=0.0, help="Share of a step; the tolerance is half of it.")
    parser.add_argument("--neighbours", action="store_true", help="A process that computes on each core.")
    parser.add_argument("--short", action="store_true", help="Scale smoke.")
    parser.add_argument("--summary", type=Path, nargs="+", metavar="FILE", help="Files of such lines to summarise.")
    asked = parser.parse_args()
    if asked.summary:
        lines = [line for path in asked.summary for line in path.read_bytes().splitlines()]
        print("\n".join(summary([msgspec.json.decode(line, type=Bump) for line in lines])))
        return 0
    folder = Path(".dlbench") / "bumps"
    count = (os.cpu_count() or 1) if asked.neighbours else 0
    for _ in range(asked.bumps):
        one = bump(folder, asked.planted, asked.planted / 2 or 0.05, count, is_short=asked.short)
        print(msgspec.json.encode(asdict(one)).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
