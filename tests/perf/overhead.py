"""What the harness costs the training loop: the same PyTorch code bare, and through the worker with sampling on.

    python -m tests.perf.overhead --triples 60

Every triple is three fresh processes in random order: bare, bare again (the null: what the machine alone makes of
nothing), and the worker. Compared are the sum, the median and the 10 % quantile of the steps behind the warm-up.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data.order import batches
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.model import (
    SGD,
    Recipe,
)
from pytest_dlbench.model.initial import initial_weights
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.running import launch
from pytest_dlbench.running.run_spec import RunSpec, recipe_json
from pytest_dlbench.running.training import train_once
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.zoo import MODELS
from tests.perf.pairs import median_ratio

RECIPE = Recipe(batch_size=32, epochs=2, optimizer=SGD(0.02, momentum=0.9))
STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "sum": lambda steps: float(steps.sum()),
    "median": lambda steps: float(np.median(steps)),
    "q10": lambda steps: float(np.quantile(steps, 0.1)),
}


def bare(spec: RunSpec, folder: Path) -> list[float]:
    """Seconds of every step, with nothing of ours around them."""
    data, place = spec.data, spec.place
    if isinstance(place, Absent):
        raise SystemExit(place.reason)
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


def through_the_worker(spec: RunSpec, _: Path) -> list[float]:
    """Seconds of every step in a worker."""
    run = train_once(spec, 0)
    if run.training is None:
        raise SystemExit(run.message)
    return list(run.training.step_seconds)


def main() -> None:
    """Run the triples and print the ratios with their conditions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=60)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--model", default="gatech-lenet")
    parser.add_argument("--threads", type=int, default=this_machine().cores)
    asked = parser.parse_args()
    settings = RunSettings(machine=this_machine(), scale="full", threads=asked.threads, seed=1, timeout_seconds=600.0)
    spec = settings.spec(
        FRAMEWORKS["pytorch"],
        MODELS[asked.model],
        DATASETS["digits28"],
        DEVICES["cpu"],
        recipe=RECIPE,
        steps=asked.steps,
    )
    arms = {"bare": bare, "null": bare, "worker": through_the_worker}
    found: dict[str, dict[str, list[float]]] = {arm: {name: [] for name in STATISTICS} for arm in arms}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weights = initial_weights(spec.network, seed=1)
        np.savez(folder / "weights.npz", **{name: array.astype(np.float32) for name, array in weights.items()})
        order = batches(examples=1437, batch_size=RECIPE.batch_size, steps=spec.steps, seed=1)
        np.save(folder / "order.npy", order)
        for triple in range(asked.triples):
            for arm in random.sample(sorted(arms), len(arms)):
                steps = np.array(arms[arm](spec, folder)[10:])
                for statistic, read in STATISTICS.items():
                    found[arm][statistic].append(read(steps))
            print(f"triple {triple + 1} of {asked.triples}", file=sys.stderr)
    print(
        f"{asked.model}, batch {RECIPE.batch_size}, {asked.steps} steps, {asked.threads} threads, {this_machine().name}"
    )
    for statistic in STATISTICS:
        for arm in ("null", "worker"):
            ratio = median_ratio(found[arm][statistic], found["bare"][statistic])
            print(f"{statistic:<6} {arm:<6} / bare: {ratio}")


if __name__ == "__main__":
    main()
