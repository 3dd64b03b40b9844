"""The cost of a builder compared with the same network written by hand as in its framework's documentation.

Every pair is two fresh processes one after the other, in the framework's environment: bench/by_hand/<name>.py
(<name>_lstm.py), and the worker with the builder. Nothing is sampled: with everything pinned to one core, sampling
would slow only the worker; bench_sampling.py measures its cost.
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import quantiles

import numpy as np
import pytest

from pytest_dlbench.data import ANY_SHAPE, DATASETS
from pytest_dlbench.data.order import batches
from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.model import LSTM, SGD, Dense, Embedding, Model, Recipe, SoftmaxCrossEntropy
from pytest_dlbench.model.needs import needs
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.reporting import problems
from pytest_dlbench.running import launch, pinning
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.zoo import MODELS
from tests.perf.pairs import REPLAYED, interleaved, median_ratio, replay

BY_HAND = Path(__file__).parents[2] / "bench" / "by_hand"
DEFAULT_FRAMEWORKS = tuple(FRAMEWORKS)
RECIPE = Recipe(batch_size=128, epochs=20, optimizer=SGD(0.01, momentum=0.5), init="framework")
ROUNDS, STEPS, WARM_UP_STEPS = 15, 60, 10
CPU_CLOCK = "import time; time.monotonic = time.process_time; "
SMALL_LSTM = Model(
    name="small-lstm",
    family="rnn",
    input_shape=(60,),
    vocabulary=5000,
    layers=(Embedding(5000, 32), LSTM(100), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=RECIPE,
)
TRAINED = {"mnist-cnn": (MODELS["tartu-mnist-cnn"], DATASETS["digits28"]), "lstm": (SMALL_LSTM, ANY_SHAPE)}

pytestmark = [
    pytest.mark.benchmark(group="a step: builder and hand-written program", timer=REPLAYED.now),
    pytest.mark.usefixtures("processors"),
]


def script(framework: Framework, model: Model) -> tuple[Path, str]:
    """The hand-written program of a framework, and its requested variant."""
    name, _, variant = framework.builder.removeprefix("dlworker.frameworks.").partition(".")
    return BY_HAND / f"{name}{'_lstm.py' if model.family == 'rnn' else '.py'}", variant


def quick_step(seconds: Sequence[float]) -> float:
    """The 10 % quantile of the steps after the warm-up."""
    return quantiles(seconds[WARM_UP_STEPS:], n=10, method="inclusive")[0]


def worker_in_cpu_seconds(python: Path) -> list[str]:
    """Like launch.command, for a worker whose clock is CPU time."""
    start = "import runpy; runpy.run_module('dlworker', run_name='__main__', alter_sys=True)"
    return [str(python), "-s", "-c", CPU_CLOCK + start]


def by_hand(spec: NetworkSpec, folder: Path, in_cpu_seconds: bool) -> float:
    """Seconds per step of the hand-written program."""
    assert not isinstance(spec.place, Absent)
    program, variant = script(spec.framework, spec.network.model)
    asked = {
        "images": str(spec.data.part("train_inputs")),
        "labels": str(spec.data.part("train_labels")),
        "order": str(folder / "order.npy"),
        "steps": spec.steps,
        "threads": spec.case.threads,
        "learning_rate": RECIPE.optimizer.learning_rate,
        "momentum": RECIPE.optimizer.momentum,
        "device": spec.case.device,
        "variant": variant,
    }
    environment = launch.environment(spec.framework, spec.place, device="cpu", threads=spec.case.threads)
    # A script's folder is first on its path, from which the programs remove it.
    start = "import runpy, sys; sys.path.insert(0, ''); sys.argv.pop(0); runpy.run_path(sys.argv[0], {}, '__main__')"
    clocked = ["-c", CPU_CLOCK + start] if in_cpu_seconds else []
    # -I keeps its folder off the path, where paddle.py would be found before Paddle.
    command = [str(spec.place.python), "-I", *clocked, str(program), json.dumps(asked)]
    # On the processors of a worker, and like it in a separate session: Linux shares processors among sessions, whatever
    # the nice value of their processes.
    with pinning.pinned(pinning.cores(spec.case.threads)):
        done = subprocess.run(
            command,
            env=dict(environment),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )
    if done.returncode:
        raise DlbenchError(f"{program} failed:\n{done.stderr[-2000:]}")
    return quick_step(json.loads(done.stdout.splitlines()[-1]))


def through_the_worker(spec: NetworkSpec) -> float:
    """Seconds per step in a worker."""
    run = train_once(spec, 0)
    if run.training is None:
        raise DlbenchError(f"{spec.case.id}: {problems.of_run(run)}")
    return quick_step(run.training.step_seconds)


@pytest.fixture(scope="module", params=TRAINED)
def network(request):
    return request.param


@pytest.fixture(scope="module")
def spec(pytestconfig, framework, network):
    """A run of either side; skipped if the framework is not installed or lacks a feature."""
    threads, steps = pytestconfig.getoption("threads"), pytestconfig.getoption("steps") or STEPS
    settings = RunSettings(machine=this_machine(), scale="full", threads=threads, seed=1, timeout_seconds=900.0)
    model, data = TRAINED[network]
    model = replace(model, input_shape=(pytestconfig.getoption("tokens"),)) if model is SMALL_LSTM else model
    found = settings.spec(FRAMEWORKS[framework], model, data, DEVICES["cpu"], recipe=RECIPE, steps=steps)
    if missing := needs(found.network, RECIPE) - (supports(found.framework) or set()):
        pytest.skip(f"{framework} has no {', '.join(sorted(missing))}")
    if isinstance(found.place, Absent):
        pytest.skip(found.place.reason.splitlines()[0])
    return replace(found, sample_period_seconds=found.timeout_seconds)


@pytest.fixture(scope="module")
def seconds(pytestconfig, spec, tmp_path_factory, conclude):
    """Seconds per step, of every run of each side."""
    folder, in_cpu_seconds = tmp_path_factory.mktemp("by-hand"), pytestconfig.getoption("cpu_seconds")
    examples = spec.data.dataset.train_examples
    np.save(folder / "order.npy", batches(examples=examples, batch_size=RECIPE.batch_size, steps=spec.steps, seed=1))
    sides = {"by hand": partial(by_hand, spec, folder, in_cpu_seconds), "builder": partial(through_the_worker, spec)}
    with pytest.MonkeyPatch.context() as patch:
        if in_cpu_seconds:
            patch.setattr(launch, "command", worker_in_cpu_seconds)
        found = interleaved(sides, pytestconfig.getoption("rounds") or ROUNDS)
    name = f"{spec.framework.name}, {spec.network.model.name}, {spec.case.threads} threads"
    conclude(f"{name}, throughput, builder / by hand: {median_ratio(found['by hand'], found['builder'])}")
    return found


@pytest.mark.parametrize("side", ["by hand", "builder"])
def bench_builders(benchmark, framework, network, seconds, side):
    """Seconds per step (10 % quantile after 10 steps of warm-up): one round is a fresh process of 60 steps.

    Both sides train tartu-mnist-cnn on the digits with dropout, or a small LSTM on synthetic tokens, with batches of
    128 in float32; 15 pairs of each. The ratio in the conclusions is of throughputs: above 1 the builder is faster.

    With ``--cpu-seconds`` both are timed by the CPU time of their process, because wall time says little if others use
    the same core. For one thread only, and without time spent waiting.
    """
    replay(benchmark, seconds[side])
