"""The overhead of sampling on a training, measured as a dose response."""

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
    pytest.mark.usefixtures("locked_cpu"),
]


@pytest.fixture(scope="module")
def blocks(pytestconfig, framework, progress, conclude):
    """Mean seconds per step in each pair of seconds, with usual and with additional samples."""
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
    conclude(f"  measured with {cost.rate} additional samplers and divided by {cost.dose:.1f}")
    conclude(f"  the driver uses {cost.core_share:.2%} of one core while a worker trains")
    additional, usual = zip(*cost.blocks, strict=True)
    return {"usual": usual, "additional": additional}


@pytest.mark.parametrize("samples", ["usual", "additional"])
def bench_sampling(benchmark, framework, blocks, samples):
    """Mean seconds per step of tartu-mnist-cnn, batches of 128; a round is a second of one training, 60 pairs.

    In every other second (the first and last of four, so that drift cancels) up to 20 samplers do everything that the
    usual one does, in addition to it. The time that they add to the mean step is divided by the number of their samples
    per usual sample, or by their multiple of its CPU time if that is smaller, and so is its 95 % interval. Both are in
    the conclusions, with the driver's share of a core. It assumes that the overhead is proportional to the number of
    samples: ``--rate`` sets another number, and the result should be the same.
    """
    replay(benchmark, blocks[samples])
