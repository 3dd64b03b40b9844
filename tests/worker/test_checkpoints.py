"""Every framework that saves a training goes on from the checkpoint in a fresh process with the same losses."""

import ast
import re
from dataclasses import replace
from pathlib import Path

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
    MaxPool,
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
from tests.worker import theano_compiler
from tests.worker.places import place_of
from tests.worker.theano_compiler import ON_THEANO

ROOT = Path(__file__).parents[2]
BUILDERS = ROOT / "tests" / "doubles" / "builders"
FOLDERS = ROOT / "pytest_dlbench" / "worker" / "dlworker" / "frameworks"
PAGE = (ROOT / "docs" / "how-to" / "checkpoints.md").read_text()
SWEEP = "checkpoints"
STEPS = 12
MACHINE = Machine(name="any", cpu_model="any", cores=2, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="quick", threads=1, seed=3, timeout_seconds=300.0, checkpoints=True)
# Two slots for each parameter, and a number of steps.
RECIPE = Recipe(batch_size=16, epochs=1, optimizer=Adam(0.003))
MODEL = Model(
    name="cnn",
    family="cnn",
    input_shape=(1, 8, 8),
    layers=(Conv2D(4, 3), BatchNorm(), ReLU(), MaxPool(2), Flatten(), Dense(8), ReLU(), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=RECIPE,
)
# Frameworks that write out some of their optimisers, or have another precision or a schedule kept apart.
OTHERS = {
    "paddle-written-out": ("paddle", {"optimizer": RMSprop(0.001)}),
    "pytorch-float64": ("pytorch", {"optimizer": SGD(0.02, momentum=0.9), "precision": "float64"}),
    "jax-float64": ("jax", {"precision": "float64"}),
}


# What a framework saves of no other recipe or network: see the page.
OWN_RECIPE = {"cntk": {"optimizer": SGD(0.02, momentum=0.9)}}
OWN_MODEL = {"keras2-cntk": replace(MODEL, layers=tuple(one for one in MODEL.layers if not isinstance(one, BatchNorm)))}


def train(framework: Framework, *, model: Model = MODEL, **changes: object) -> Run:
    spec = SETTINGS.spec(
        framework,
        model,
        synthetic_for(model),
        DEVICES["cpu"],
        recipe=replace(RECIPE, **changes),
        steps=STEPS,
    )
    if framework.name in ON_THEANO:
        assert isinstance(spec.place, Place)
        quickly = theano_compiler.variables(spec.place, is_optimised=False, threads=1)
        spec = replace(spec, place=replace(spec.place, variables={**spec.place.variables, **quickly}))
    return train_once(spec, 0)


def require_resumed(run: Run) -> None:
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    found = run.checkpoint
    assert found.deviation <= found.bound
    assert len(found.resumed_losses) == len(found.losses) > 3
    assert found.size_bytes > 4 * 3 * sum(map(len, run.parameters.values()))
    assert min(found.write_seconds, found.read_seconds) > 0


def modules() -> dict[str, Path]:
    return {file.parent.name: file for file in FOLDERS.glob("*/checkpoint.py")}


def stated(file: Path, name: str) -> object:
    """A constant of a module, which is not imported."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    return ()


def rows() -> dict[str, list[str]]:
    found = re.findall(r"^\| (`[^|]*) \| ([^|]*) \| ([^|]*) \|$", PAGE, re.MULTILINE)
    return {name: [by, lost] for names, by, lost in found for name in re.findall(r"`([\w.-]+)`", names)}


@pytest.mark.parametrize("name", sorted(set(rows()) & set(FRAMEWORKS)))
def test_training_goes_on_from_a_checkpoint_with_the_same_losses(name):
    place_of(name, SWEEP)
    run = train(FRAMEWORKS[name], model=OWN_MODEL.get(name, MODEL), **OWN_RECIPE.get(name, {}))
    require_resumed(run)
    by, lost = rows()[name]
    assert run.checkpoint.mechanism == by
    assert ", ".join(run.checkpoint.not_kept) == lost


@pytest.mark.parametrize("case", OTHERS)
def test_so_does_training_with_other_optimisers_and_in_float64(case):
    name, changes = OTHERS[case]
    place_of(name, SWEEP)
    require_resumed(train(FRAMEWORKS[name], **changes))


@pytest.mark.parametrize(
    ("name", "reason"), [("cntk", "a learner keeps that is written"), ("keras2-cntk", "running statistics")]
)
def test_what_a_framework_does_not_save_is_unsupported(name, reason):
    place_of(name, SWEEP)
    run = train(FRAMEWORKS[name])
    assert run.outcome is RunOutcome.UNSUPPORTED
    assert reason in run.message


def test_the_state_of_random_numbers_is_kept_where_no_row_says_otherwise():
    place_of("pytorch", SWEEP)
    run = train(FRAMEWORKS["pytorch"], model=replace(MODEL, layers=(*MODEL.layers[:-1], Dropout(0.5), Dense(10))))
    require_resumed(run)
    assert run.checkpoint.not_kept == ()


def test_momentum_that_is_not_restored_is_caught():
    place_of("pytorch", SWEEP)
    planted = replace(FRAMEWORKS["pytorch"], builder="forgets_momentum_of_pytorch", folders=(BUILDERS,))
    run = train(planted, optimizer=SGD(0.02, momentum=0.9))
    assert run.outcome is RunOutcome.FAILED
    assert isinstance(run.problem, NotResumed)
    assert (run.problem.step, run.problem.mechanism) == (2, "torch.save")


def test_the_page_has_the_mechanism_of_every_framework():
    of_folders = {framework.builder.split(".")[2]: name for name, framework in FRAMEWORKS.items() if framework.builder}
    for folder, file in modules().items():
        name = of_folders[folder]
        assert rows()[name] == [stated(file, "MECHANISM"), ", ".join(stated(file, "NOT_KEPT"))]
