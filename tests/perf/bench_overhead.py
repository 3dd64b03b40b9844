"""The driver's overhead on the training loop: the same PyTorch code bare, and in the worker with sampling."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data.order import batches
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.model import SGD, Recipe
from pytest_dlbench.model.initial import initial_weights
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.reporting import problems
from pytest_dlbench.running import launch
from pytest_dlbench.running.run_spec import NetworkSpec, recipe_json
from pytest_dlbench.running.training import train_once
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.zoo import MODELS
from tests.perf.pairs import REPLAYED, interleaved, median_ratio, replay

MODEL, DATASET = "gatech-lenet", "digits28"
RECIPE = Recipe(batch_size=32, epochs=2, optimizer=SGD(0.02, momentum=0.9))
ROUNDS, STEPS = 60, 300
WARM_UP_STEPS = 10
STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "sum": lambda steps: float(steps.sum()),
    "median": lambda steps: float(np.median(steps)),
    "q10": lambda steps: float(np.quantile(steps, 0.1)),
}

pytestmark = [
    pytest.mark.benchmark(group="a step: driver overhead", timer=REPLAYED.now),
    pytest.mark.usefixtures("processors"),
]


def bare(spec: NetworkSpec, folder: Path) -> list[float]:
    """Seconds of every step, without the driver and the worker."""
    data, place = spec.data, spec.place
    assert not isinstance(place, Absent)
    asked = {
        "network": spec.network.as_json(),
        "recipe": recipe_json(spec.recipe),
        "weights": str(folder / "weights.npz"),
        "images": str(data.part("train_inputs")),
        "labels": str(data.part("train_labels")),
        "order": str(folder / "order.npy"),
        "steps": spec.steps,
        "threads": spec.case.threads,
        "seed": spec.seed,
    }
    environment = launch.environment(spec.framework, place, device="cpu", threads=spec.case.threads)
    command = [str(place.python), "-s", str(Path(__file__).parent / "bare.py"), json.dumps(asked)]
    done = subprocess.run(command, env=dict(environment), capture_output=True, check=True)
    return list(json.loads(done.stdout))


def through_the_worker(spec: NetworkSpec) -> list[float]:
    """Seconds of every step in a worker."""
    run = train_once(spec, 0)
    if run.training is None:
        raise DlbenchError(problems.of_run(run))
    return list(run.training.step_seconds)


@pytest.fixture(scope="module")
def spec(pytestconfig):
    threads, steps = pytestconfig.getoption("threads"), pytestconfig.getoption("steps") or STEPS
    settings = RunSettings(machine=this_machine(), scale="full", threads=threads, seed=1, timeout_seconds=600.0)
    found = settings.spec(
        FRAMEWORKS["pytorch"], MODELS[MODEL], DATASETS[DATASET], DEVICES["cpu"], recipe=RECIPE, steps=steps
    )
    if isinstance(found.place, Absent):
        pytest.skip(found.place.reason)
    return found


@pytest.fixture(scope="module")
def folder(spec, tmp_path_factory):
    """The arrays that the bare program reads."""
    found = tmp_path_factory.mktemp("overhead")
    weights = initial_weights(spec.network, seed=1)
    np.savez(found / "weights.npz", **{name: array.astype(np.float32) for name, array in weights.items()})
    examples = spec.data.dataset.train_examples
    np.save(found / "order.npy", batches(examples=examples, batch_size=RECIPE.batch_size, steps=spec.steps, seed=1))
    return found


@pytest.fixture(scope="module")
def steps(pytestconfig, spec, folder, progress, conclude):
    """Seconds of the steps after the warm-up, of every run of each side."""

    def run(side, train):
        progress(f"overhead: {side}")
        return np.array(train()[WARM_UP_STEPS:])

    sides = {
        "bare": lambda: run("bare", lambda: bare(spec, folder)),
        "null": lambda: run("null", lambda: bare(spec, folder)),
        "worker": lambda: run("worker", lambda: through_the_worker(spec)),
    }
    found = interleaved(sides, pytestconfig.getoption("rounds") or ROUNDS)
    of = {
        statistic: {side: [read(one) for one in runs] for side, runs in found.items()}
        for statistic, read in STATISTICS.items()
    }
    for statistic, values in of.items():
        for side in ("null", "worker"):
            conclude(f"overhead, {statistic} of steps, {side} / bare: {median_ratio(values[side], values['bare'])}")
    return of["median"]


@pytest.mark.parametrize("side", ["bare", "null", "worker"])
def bench_overhead(benchmark, steps, side):
    """Median seconds per step: one round is a fresh process of 300 steps of LeNet in PyTorch, batch 32.

    ``bare`` is the builder's framework code in a separate loop (bare.py), ``null`` the same again, which shows the
    machine's noise. ``worker`` is a run as in a session, sampled five times a second. 60 rounds interleaved, all cores;
    the conclusions have the ratios of sums, medians and 10 % quantiles.
    """
    replay(benchmark, steps[side])
