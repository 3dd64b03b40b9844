"""The cost of collecting a large matrix: 10,000 cases, compared with 10,000 parametrized empty tests in bare pytest."""

import os
import sys

import pytest

from tests.perf import collecting
from tests.perf.pairs import REPLAYED, in_turn, median_ratio, replay

ROUNDS = 10
PYTEST = (sys.executable, "-m", "pytest")

pytestmark = pytest.mark.benchmark(group="collection of 10,000 cases", timer=REPLAYED.now)


@pytest.fixture(scope="module")
def seconds(pytestconfig, tmp_path_factory, conclude):
    suite, bare = collecting.write(tmp_path_factory.mktemp("collection"))
    sides = {
        "dlbench": lambda: collecting.seconds(PYTEST, suite, os.environ),
        "bare": lambda: collecting.seconds([*PYTEST, "-p", "no:dlbench"], bare, os.environ),
    }
    # A first round to write the bytecode.
    in_turn(sides, 1)
    found = in_turn(sides, pytestconfig.getoption("rounds") or ROUNDS)
    conclude(f"collection, dlbench / bare pytest: {median_ratio(found['dlbench'], found['bare'])}")
    return found


@pytest.mark.parametrize("side", ["dlbench", "bare"])
def bench_collection(benchmark, seconds, side):
    """Seconds of ``pytest --collect-only -q`` for 10,000 cases, in a fresh process with warm bytecode.

    ``dlbench`` collects a matrix of 2 frameworks, 1,000 models, 5 data sets and a device; ``bare`` collects the same
    number of empty tests without the plugin. Interleaved, 10 pairs.
    """
    replay(benchmark, seconds[side])
