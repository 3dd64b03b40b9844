"""Specifications of small runs with the doubles of tests/doubles/builders/."""

import sys
from pathlib import Path
from typing import Any

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.model import SGD, Dense, Flatten, Layer, Model, Recipe, SoftmaxCrossEntropy, infer
from pytest_dlbench.records import Case, Context, Machine
from pytest_dlbench.running.run_spec import NetworkSpec

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
CLASSES = 3
BATCH = 16
STEPS = 8
LINEAR = (Flatten(), Dense(CLASSES))


def spec(builder: str, folder: Path, *, layers: tuple[Layer, ...] = LINEAR, **changes: Any) -> NetworkSpec:
    """A few steps of softmax regression, with data prepared in ``folder``."""
    recipe = Recipe(batch_size=BATCH, epochs=1, optimizer=SGD(0.1))
    head = SoftmaxCrossEntropy(classes=CLASSES)
    model = Model(name="small", family="fcn", input_shape=(1, 4, 5), layers=layers, head=head, recipe=recipe)
    case = Case(
        id=f"training-{builder}-small-synthetic-cpu-smoke",
        framework=builder,
        model="small",
        dataset="synthetic",
        device="cpu",
        scale="smoke",
        threads=1,
    )
    usual = {
        "case": case,
        "framework": Framework(name=builder, builder=builder, folders=(BUILDERS,)),
        "place": Place(python=Path(sys.executable), environment=CURRENT, caches=folder / "caches"),
        "network": infer(model),
        "recipe": recipe,
        "data": prepare(synthetic(model.input_shape, CLASSES), folder),
        "steps": STEPS,
        "seed": 1,
        "timeout_seconds": 60.0,
    }
    return NetworkSpec(**{**usual, **changes})


def context() -> Context:
    """Of an entry in a journal."""
    return Context(
        machine=Machine(name="small", cpu_model="8086", cores=2, memory_gib=8.0, os_family="linux"),
        network_digest="5d806ee3711cedb8",
        dataset_digest="63bf5a2fc100bc0f",
        batch_size=BATCH,
        steps=STEPS,
        precision="float32",
        init="glorot",
    )
