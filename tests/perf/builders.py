"""What a builder costs against the same network written by hand, as its framework's documentation would.

    python -m tests.perf.builders --pairs 15 pytorch tensorflow …

Every pair is two fresh processes in random order, in the framework's environment: tests/perf/by_hand/<name>.py, and the
worker with the builder. Both train tartu-mnist-cnn on the digits, float32, with dropout; or, with ``--model lstm`` and
<name>_lstm.py, a small classifier of made-up sequences. Compared are the 10 % quantiles of the steps behind the
warm-up. Above 1 the builder is the quicker one. Nothing is sampled meanwhile: where all is pinned to one core, that
would take from the worker alone; overhead.py tells what it costs.

With ``--cpu-seconds`` the clock of both is the CPU time of their process: where others use the same core, seconds of
the clock say little. For one thread only, and not for what a builder waits for.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import numpy as np

from pytest_dlbench.data import ANY_SHAPE, DATASETS
from pytest_dlbench.data.order import batches
from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model import LSTM, SGD, Dense, Embedding, Model, Recipe, SoftmaxCrossEntropy
from pytest_dlbench.model.needs import needs
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.running import launch, pinning
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.zoo import MODELS
from tests.perf.pairs import median_ratio

BY_HAND = Path(__file__).parent / "by_hand"
RECIPE = Recipe(batch_size=128, epochs=20, optimizer=SGD(0.01, momentum=0.5), init="framework")
WARM_UP_STEPS = 10
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


def script(framework: Framework, model: Model) -> tuple[Path, str]:
    """The hand-written program of a framework, and the variant of it that is asked for."""
    module = framework.builder.rpartition(".")[2]
    ending = "_lstm.py" if model.family == "rnn" else ".py"
    exact = BY_HAND / f"{module}{ending}"
    base, _, variant = module.partition("_")
    return (exact, "") if exact.exists() else (BY_HAND / f"{base}{ending}", variant)


def quick_step(seconds: Sequence[float]) -> float:
    """The 10 % quantile of the steps behind the warm-up."""
    return quantiles(seconds[WARM_UP_STEPS:], n=10, method="inclusive")[0]


def worker_in_cpu_seconds(python: Path) -> list[str]:
    """What launch.command gives, for a worker that has another clock."""
    start = "import runpy; runpy.run_module('dlworker', run_name='__main__', alter_sys=True)"
    return [str(python), "-s", "-c", CPU_CLOCK + start]


def by_hand(spec: RunSpec, folder: Path, in_cpu_seconds: bool) -> float:
    """Seconds of a step without us."""
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
    # A script's folder is the first of its path, which the programs take away.
    start = "import runpy, sys; sys.path.insert(0, ''); sys.argv.pop(0); runpy.run_path(sys.argv[0], {}, '__main__')"
    clocked = ["-c", CPU_CLOCK + start] if in_cpu_seconds else []
    # -I: its folder is not on its path, where paddle.py would be found before Paddle.
    command = [str(spec.place.python), "-I", *clocked, str(program), json.dumps(asked)]
    # On the processors of a worker, and in a session of its own as that is: Linux shares processors among sessions,
    # whatever the nice of their processes.
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
        raise SystemExit(f"{program} failed:\n{done.stderr[-2000:]}")
    return quick_step(json.loads(done.stdout.splitlines()[-1]))


def through_the_worker(spec: RunSpec, _: Path) -> float:
    """Seconds of a step in a worker."""
    run = train_once(spec, 0)
    if run.training is None:
        raise SystemExit(f"{spec.case.id}: {run.message}")
    return quick_step(run.training.step_seconds)


def compare(spec: RunSpec, pairs: int, in_cpu_seconds: bool) -> str:
    """The ratio of throughputs, builder over by hand, with its interval."""
    arms = {"by hand": partial(by_hand, in_cpu_seconds=in_cpu_seconds), "builder": through_the_worker}
    found: dict[str, list[float]] = {arm: [] for arm in arms}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        examples = spec.data.dataset.train_examples
        order = batches(examples=examples, batch_size=RECIPE.batch_size, steps=spec.steps, seed=1)
        np.save(folder / "order.npy", order)
        for _ in range(pairs):
            for arm in random.sample(sorted(arms), len(arms)):
                found[arm].append(arms[arm](spec, folder))
    return f"{median_ratio(found['by hand'], found['builder'])}  by hand {1e3 * median(found['by hand']):.1f} ms a step"


def main() -> None:
    """One line a framework."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK")
    parser.add_argument("--model", choices=TRAINED, default="mnist-cnn")
    parser.add_argument("--tokens", type=int, default=60, help="the length of the LSTM's sequences")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=this_machine().cores)
    parser.add_argument("--cpu-seconds", action="store_true", help="CPU time of the process instead of the clock's")
    asked = parser.parse_args()
    if asked.cpu_seconds:
        launch.command = worker_in_cpu_seconds
    settings = RunSettings(machine=this_machine(), scale="full", threads=asked.threads, seed=1, timeout_seconds=900.0)
    print(f"{this_machine().name}, {asked.threads} threads, batch {RECIPE.batch_size}, {asked.steps} steps", flush=True)
    model, data = TRAINED[asked.model]
    model = replace(model, input_shape=(asked.tokens,)) if model is SMALL_LSTM else model
    for name in asked.frameworks or FRAMEWORKS:
        spec = settings.spec(FRAMEWORKS[name], model, data, DEVICES["cpu"], recipe=RECIPE, steps=asked.steps)
        spec = replace(spec, sample_period_seconds=spec.timeout_seconds)
        missing = needs(spec.network, RECIPE) - (supports(spec.framework) or set())
        reason = spec.place.reason.splitlines()[0] if isinstance(spec.place, Absent) else ", ".join(sorted(missing))
        if reason:
            print(f"{name:<18} left out: {reason}", file=sys.stderr)
            continue
        print(f"{name:<18} {compare(spec, asked.pairs, asked.cpu_seconds)}", flush=True)


if __name__ == "__main__":
    main()
