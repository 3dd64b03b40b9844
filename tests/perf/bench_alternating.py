"""The cost of alternating steps: the time from the end of a step to the start of the next one, on either side.

That is an answer and a request. Both sides are the NumPy double, whose steps take some tens of microseconds.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from time import time_ns

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from pytest_dlbench.records import Run
from pytest_dlbench.running.alternating import train_pair, turns
from pytest_dlbench.running.run_spec import RunSpec
from tests.perf.pairs import REPLAYED, replay
from tests.running.specs import spec

ROUNDS, STEPS = 20, 1000

pytestmark = [
    pytest.mark.benchmark(group="between two steps of a pair", timer=REPLAYED.now),
    pytest.mark.usefixtures("processors"),
]


def between_steps(runs: tuple[Run, Run], order: Random) -> Iterator[float]:
    """Seconds between successive steps: the mean over those from one step of a side to its next one.

    The two runs have clocks of their own, so a step of one side is compared with that side's next step only.
    """
    began = [dict(run.training.resumed) for run in runs if run.training]
    seconds = [run.training.step_seconds for run in runs if run.training]
    numbers = [min(one) for one in began]
    last: list[float | None] = [None, None]
    meanwhile, taken = [0.0, 0.0], [0, 0]
    for side in islice(turns(order), 2 * len(began[0])):
        other, number = 1 - side, numbers[side]
        if number not in began[side]:
            return
        ended = last[side]
        if ended is not None:
            yield (began[side][number] - ended - meanwhile[side]) / (taken[side] + 1)
        last[side] = began[side][number] + seconds[side][number]
        meanwhile[side], taken[side] = 0.0, 0
        meanwhile[other], taken[other] = meanwhile[other] + seconds[side][number], taken[other] + 1
        numbers[side] += 1


def bench_request(
    benchmark: BenchmarkFixture, tmp_path: Path, pytestconfig: pytest.Config, conclude: Callable[[str], None]
) -> None:
    asked = spec("numpy_softmax", tmp_path, steps=pytestconfig.getoption("steps") or STEPS)
    rounds = range(pytestconfig.getoption("rounds") or ROUNDS)
    found = [sorted(between_steps(pair(asked, number), Random(number))) for number in rounds]
    replay(benchmark, [median(one) for one in found])
    quick, slow = (median(one[int(share * len(one))] for one in found) for share in (0.1, 0.9))
    conclude(f"between two steps: 10 % in less than {1e6 * quick:.0f} µs, 10 % in more than {1e6 * slow:.0f} µs")


def main() -> None:
    """Print the median seconds of one pair, for tests/perf/against.py; its folder is the only argument."""
    asked = spec("numpy_softmax", Path(sys.argv[1]), steps=STEPS)
    number = time_ns()
    print(median(between_steps(pair(asked, number), Random(number))))


def pair(asked: RunSpec, number: int) -> tuple[Run, Run]:
    one, other = train_pair(asked, asked, 0, Random(number))
    return one, other


if __name__ == "__main__":
    main()
