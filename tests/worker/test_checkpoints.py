"""Frameworks that save a training go on from the checkpoint in a fresh process with the same losses.

A usual run has the first framework of each row of the page; its variants share its checkpoints, and train with
CI_FULL=1.
"""

import ast
import os
import re
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import Place
from pytest_dlbench.model import (
    SGD,
    Adam,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    Model,
    Recipe,
    ReLU,
    RMSprop,
    SoftmaxCrossEntropy,
)
from pytest_dlbench.planning.plan import RunSettings, synthetic_for
from pytest_dlbench.records import Machine, Run, RunOutcome
from pytest_dlbench.records.problems import NotResumed
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.training import train_once
from tests.worker.places import place_of
from tests.worker.sessions import BUILDERS, compiling

ROOT = Path(__file__).parents[2]
FOLDERS = ROOT / "pytest_dlbench" / "worker" / "dlworker" / "frameworks"
PAGE = (ROOT / "docs" / "how-to" / "checkpoints.md").read_text()
SWEEP = "checkpoints"
IS_FULL = os.environ.get("CI_FULL") == "1"
STEPS = 4
MACHINE = Machine(name="any", cpu_model="any", cores=2, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="quick", threads=1, seed=3, timeout_seconds=300.0, checkpoints=True)
# Two slots for each parameter, and a number of steps.
RECIPE = Recipe(batch_size=16, epochs=1, optimizer=Adam(0.003))
MODEL = Model(
    name="cnn",
    family="cnn",
    input_shape=(1, 6, 6),
    layers=(Conv2D(4, 3), BatchNorm(), ReLU(), Flatten(), Dense(4)),
    head=SoftmaxCrossEntropy(classes=4),
    recipe=RECIPE,
)
WITHOUT_STATISTICS = replace(MODEL, layers=tuple(one for one in MODEL.layers if not isinstance(one, BatchNorm)))
DRAWING = replace(MODEL, layers=(*MODEL.layers[:-1], Dropout(0.5), MODEL.layers[-1]))
# What differs by framework: another precision; what its checkpoints lack otherwise (see the page); and random numbers,
# where their state is kept.
CHANGES: dict[str, dict[str, Any]] = {
    "cntk": {"optimizer": SGD(0.02, momentum=0.9)},
    "jax": {"precision": "float64"},
    "pytorch": {"precision": "float64", "model": DRAWING},
    "keras2-cntk": {"model": WITHOUT_STATISTICS},
}


def train(framework: Framework, *, model: Model = MODEL, **changes: Any) -> Run:
    spec = SETTINGS.spec(
        framework,
        model,
        synthetic_for(model),
        DEVICES["cpu"],
        recipe=replace(RECIPE, **changes),
        steps=STEPS,
    )
    assert isinstance(spec.place, Place)
    quickly = compiling(framework, spec.place, is_optimised=False)
    place = replace(spec.place, variables={**spec.place.variables, **quickly})
    # Neither counts nor a check of updates, which only first runs have.
    return train_once(replace(spec, place=place, is_timed=False), 1)


def require_resumed(run: Run) -> None:
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    found = run.checkpoint
    assert found.deviation <= found.bound
    assert len(found.resumed_losses) == len(found.losses) > 3
    assert len(set(found.losses)) == len(found.losses)
    # Every parameter, and at least one slot for each.
    assert found.size_bytes > 4 * 2 * sum(map(prod, run.parameters.values()))
    assert min(found.write_seconds, found.read_seconds) > 0


def modules() -> dict[str, Path]:
    return {file.parent.name: file for file in FOLDERS.glob("*/checkpoint.py")}


def stated(file: Path, name: str) -> object:
    """A constant of a module, which is not imported."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    return ()


def rows() -> list[tuple[list[str], str, str]]:
    """The names of each row, by what they write, and what is not kept."""
    found = re.findall(r"^\| (`[^|]*) \| ([^|]*) \| ([^|]*) \|$", PAGE, re.MULTILINE)
    return [(re.findall(r"`([\w.-]+)`", names), by, lost) for names, by, lost in found]


NAMES = [name for names, *_ in rows() for name in (names if IS_FULL else names[:1])]


@pytest.mark.parametrize("name", NAMES)
def test_training_goes_on_from_a_checkpoint_with_the_same_losses(name):
    place_of(name, SWEEP)
    require_resumed(train(FRAMEWORKS[name], **CHANGES.get(name, {})))


def test_so_does_one_with_an_optimiser_that_is_written_out():
    place_of("paddle", SWEEP)
    require_resumed(train(FRAMEWORKS["paddle"], optimizer=RMSprop(0.001)))


@pytest.mark.parametrize(
    ("name", "reason"), [("cntk", "a learner keeps that is written"), ("keras2-cntk", "running statistics")]
)
def test_what_a_framework_does_not_save_is_unsupported(name, reason):
    place_of(name, SWEEP)
    run = train(FRAMEWORKS[name])
    assert run.outcome is RunOutcome.UNSUPPORTED
    assert reason in run.message


def test_momentum_that_is_not_restored_is_caught():
    place_of("pytorch", SWEEP)
    planted = replace(FRAMEWORKS["pytorch"], builder="forgets_momentum_of_pytorch", folders=(BUILDERS,))
    run = train(planted, optimizer=SGD(0.02, momentum=0.9))
    assert run.outcome is RunOutcome.FAILED
    assert isinstance(run.problem, NotResumed)
    assert (run.problem.step, run.problem.mechanism) == (2, "torch.save")


def test_the_page_has_every_framework_and_what_its_module_states():
    named = {name: (by, lost) for names, by, lost in rows() for name in names}
    assert named.keys() == {name for name, framework in FRAMEWORKS.items() if framework.builder}
    for folder, file in modules().items():
        names = [name for name in named if FRAMEWORKS[name].builder.split(".")[2] == folder]
        expected = stated(file, "MECHANISM"), ", ".join(stated(file, "NOT_KEPT"))
        assert names
        assert {named[name] for name in names} == {expected}
