"""What sampling costs a training, as a dose and its response."""

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.zoo import MODELS
from tests.perf.pairs import REPLAYED, replay
from tests.perf.sampling_overhead import sampling_cost

MODEL, DATASET = "tartu-mnist-cnn", "digits28"
DEFAULT_FRAMEWORKS = ("pytorch",)
ROUNDS = 60

pytestmark = [
    pytest.mark.benchmark(group="a step: sampling overhead", timer=REPLAYED.now),
    pytest.mark.usefixtures("processors"),
]


@pytest.fixture(scope="module")
def blocks(pytestconfig, framework, progress, conclude):
    """Mean seconds of a step in each pair of seconds, by what the samples were."""
    threads = pytestconfig.getoption("threads")
    settings = RunSettings(machine=this_machine(), scale="quick", threads=threads, seed=1, timeout_seconds=600.0)
    model, device = MODELS[MODEL].for_input(DATASETS[DATASET].shape), DEVICES["cpu"]
    spec = settings.spec(FRAMEWORKS[framework], model, DATASETS[DATASET], device, label="sampling")
    if isinstance(spec.place, Absent):
        pytest.skip(spec.place.reason)
    rounds, rate = pytestconfig.getoption("rounds") or ROUNDS, pytestconfig.getoption("rate")
    cost = sampling_cost(spec, rounds, progress, rate)
    interval = f"95 % interval {cost.lower - 1:+.3%} to {cost.upper - 1:+.3%}, {len(cost.blocks)} pairs of seconds"
    conclude(f"{framework}: sampling costs {cost.ratio - 1:+.3%} of step time ({interval})")
    conclude(f"  measured with {cost.rate} additional observers, and divided by {cost.dose:.1f}")
    conclude(f"  and the driver takes {cost.core_share:.2%} of one core while a worker trains")
    additional, usual = zip(*cost.blocks, strict=True)
    return {"usual": usual, "additional": additional}


@pytest.mark.parametrize("samples", ["usual", "additional"])
def bench_sampling(benchmark, framework, blocks, samples):
    """Mean seconds of a step of tartu-mnist-cnn, batches of 128; a round is a second of one training, 60 pairs.

    In one second of two (of four the first and the last, so that a drift counts for neither) up to 20 observers sample
    in addition to the usual one, in every way that it does. What they add to the mean step is divided by how many
    samples they took for each usual one, or by how many times its processor time where that is less, and so is its
    95 % interval: the conclusions have it, and the driver's share of a core. That cost grows with the number of samples
    is an assumption: ``--rate`` sets another number, and the answer should be the same.
    """
    replay(benchmark, blocks[samples])
