"""A worker as the driver sees it: started in the same way, and sent one operation after another."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from pytest_dlbench.data import Prepared
from pytest_dlbench.data.order import batches
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import Place, Places
from pytest_dlbench.model import (
    Network,
    Recipe,
)
from pytest_dlbench.model.initial import initial_weights
from pytest_dlbench.running import launch, messages
from pytest_dlbench.running.connection import Worker
from pytest_dlbench.running.run_spec import recipe_json
from tests.worker import compilers

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
# The results are the same, in half to two thirds of the time.
OF_XLA = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
UNOPTIMISED: Mapping[str, Mapping[str, str]] = {
    "tinygrad": {"NOOPT": "1"},
    "jax": OF_XLA,
    "keras-jax": OF_XLA,
    "tensorflow-xla": OF_XLA,
}
# Theano takes minutes to compile some networks.
ANSWER_SECONDS = 900.0


def double(builder: str) -> Framework:
    """One of tests/doubles/builders/ as a framework."""
    return Framework(name=builder.replace("_", "-"), builder=builder, folders=(BUILDERS,))


class Session:
    """One worker process and its input files. Answers are parsed as in the driver."""

    def __init__(self, worker: Worker, folder: Path, framework: Framework) -> None:
        self.worker, self._folder, self._framework = worker, folder, framework

    def ask(self, op: str, **fields: Any) -> Any:
        """The typed answer, or messages.Failed."""
        return messages.parse(op, self.raw(op, **fields))

    def raw(self, op: str, **fields: Any) -> dict[str, Any]:
        """The answer as received."""
        deadline = monotonic() + ANSWER_SECONDS
        return self.worker.request(op, deadline=deadline, waiting=lambda: None, period_seconds=1.0, **fields)

    def hello(self, **changes: Any) -> Any:
        """Import the framework."""
        usual = {"protocol": messages.PROTOCOL_VERSION, "builder": self._framework.builder, "device": "cpu"}
        return self.ask("hello", **{**usual, "threads": 1, **changes})

    def build(self, network: Network, recipe: Recipe, *, seed: int = 1) -> Any:
        """Build from shared weights or the framework's own."""
        weights = None
        if recipe.init != "framework":
            weights = str(self._folder / "weights.npz")
            arrays = initial_weights(network, seed=seed, rule=recipe.init)
            typed: dict[str, Any] = {name: array.astype(recipe.stored_precision) for name, array in arrays.items()}
            np.savez(weights, allow_pickle=False, **typed)
        return self.ask("build", network=network.as_json(), recipe=recipe_json(recipe), weights=weights, seed=seed)

    def train(self, data: Prepared, recipe: Recipe, steps: int, taken: int | None = None, **more: Any) -> Any:
        """Train in an order that depends only on the number of steps; only the first ``taken`` steps, or all.

        ``more`` are further fields of the request.
        """
        order = self._folder / "order.npy"
        examples = data.dataset.train_examples
        np.save(order, batches(examples=examples, batch_size=recipe.batch_size, steps=steps, seed=1))
        rates = None
        if recipe.schedule:
            rates = str(self._folder / "rates.npy")
            np.save(rates, recipe.learning_rates(steps=steps, steps_per_epoch=examples // recipe.batch_size))
        return self.ask("train", **_files(data, "train"), order=str(order), rates=rates, steps=taken or steps, **more)

    def train_on(self, first: int, steps: int) -> Any:
        """Continue after the steps of ``train``, in the same order."""
        return self.ask("train_on", first=first, steps=steps)

    def infer(self, data: Prepared, batch_size: int, outputs: Path) -> Any:
        """Apply to the training split in order, in whole batches; writes the first batch's outputs to ``outputs``."""
        batches = data.dataset.train_examples // batch_size
        np.save(self._folder / "order.npy", np.arange(batches * batch_size).reshape(batches, batch_size))
        inputs, order = str(data.part("train_inputs")), str(self._folder / "order.npy")
        return self.ask("infer", inputs=inputs, order=order, outputs=str(outputs))

    def evaluate(self, data: Prepared, batch_size: int = 100) -> Any:
        """Evaluate on the test split."""
        return self.ask("evaluate", **_files(data, "test"), batch_size=batch_size)


def _files(data: Prepared, split: str) -> dict[str, str]:
    return {"inputs": str(data.part(f"{split}_inputs")), "labels": str(data.part(f"{split}_labels"))}


def compiling(framework: Framework, place: Place, *, is_optimised: bool) -> Mapping[str, str]:
    """Variables that make a compiler fast."""
    unoptimised = {} if is_optimised else UNOPTIMISED.get(framework.name, {})
    return {**unoptimised, **compilers.variables(framework, place, is_optimised=is_optimised)}


@contextmanager
def session(
    framework: Framework,
    folder: Path,
    python: Path | None = None,
    threads: int = 1,
    *,
    is_optimised: bool = False,
) -> Iterator[Session]:
    """A fresh worker in its own folder, in the framework's environment or under another Python.

    What it compiles is there sooner and runs longer than what users have, unless it ``is_optimised``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = Places().find(framework)
    assert isinstance(place, Place), place.reason
    quickly = compiling(framework, place, is_optimised=is_optimised)
    place = replace(
        place,
        python=python or place.python,
        caches=folder / "caches" if python else place.caches,
        variables={**place.variables, **quickly},
    )
    environment = launch.environment(framework, place, device="cpu", threads=threads)
    with Worker(launch.command(place.python), environment, folder) as worker:
        yield Session(worker, folder, framework)
