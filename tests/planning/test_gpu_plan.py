"""What would run on another GPU than this machine has, by its data sheet."""

from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from pytest_dlbench.data import ANY_SHAPE
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.judging.data_sheets import CARDS
from pytest_dlbench.model import infer
from pytest_dlbench.planning.gpu_plan import GIB, least_bytes, planned, unusable
from pytest_dlbench.planning.gpu_seconds import DEVICE_SECONDS, MEASURED, MEASURED_LAYERS, parts_of
from pytest_dlbench.planning.matrix import SCALES
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.zoo import MODELS
from tests.doubles import records

SETTINGS = RunSettings(machine=records.machine(), scale="quick", threads=1, seed=1, timeout_seconds=60.0)
LENET, LARGE = MODELS["gatech-lenet"], MODELS["hkbu-resnet-50"]
# The frameworks that the thesis ran.
OF_THE_THESIS = ("pytorch", "tensorflow", "jax", "keras-tensorflow", "mxnet", "chainer")
PYTORCH = FRAMEWORKS["pytorch"]


def plan(card, *frameworks, models=(LENET,)):
    return list(planned(CARDS[card], [FRAMEWORKS[name] for name in frameworks], models, SETTINGS))


@pytest.mark.parametrize("card", ["T4", "A100-40GB", "H100", "B200"])
def test_current_frameworks_run_on_current_gpus(card):
    assert [(case.environment, case.reason) for case in plan(card, "pytorch", "jax", "tensorflow")] == [
        ("pytorch-cuda", ""),
        ("jax-cuda", ""),
        ("tensorflow-cuda", ""),
    ]


def test_a_gpu_that_is_too_old_says_which_it_would_have_to_be():
    (case,) = plan("V100", "jax")
    assert case.reason == "CUDA 13 needs a GPU with a compute capability of 7.5 or higher, V100 has 7.0"


def test_a_gpu_whose_last_driver_is_too_old_says_which_driver_is_needed():
    (case,) = plan("K80", "tensorflow")
    assert case.reason == "CUDA 12 needs NVIDIA's driver 525.60.13 or newer, not 470.256.02"


def test_a_retired_framework_runs_on_the_gpus_of_its_time_only():
    runs = [name for name in CARDS if not unusable(FRAMEWORKS["pytorch-1.0"], CARDS[name])[0]]
    assert runs == ["K80", "P4", "P100", "V100", "T4", "RTX-2080-Ti"]


@pytest.mark.parametrize(
    ("framework", "reason"),
    [
        ("theano", "its builder is for processors"),
        ("paddle", "of paddlepaddle-gpu, package indexes have 2.6.2 at most; *"),
        ("mxnet", "CUDA 11 needs a GPU with a compute capability of 5.0 to 8.9, H100 has 9.0"),
        ("torch7", "Torch7 has no package in today's registries*"),
    ],
)
def test_a_framework_without_an_environment_for_gpus_says_why(framework, reason):
    (case,) = plan("H100", framework)
    assert case.reason.startswith(reason.rstrip("*"))


@pytest.mark.parametrize("framework", OF_THE_THESIS)
def test_every_case_of_the_thesis_is_planned(framework):
    models = [model for model in MODELS.values() if "thesis" in model.sources]
    cases = plan("H100", framework, models=models)
    assert [case.model for case in cases] == [model.name for model in models]
    assert all(case.reason or (case.steps and case.least_bytes and case.expected_seconds) for case in cases)


def test_a_training_that_needs_more_memory_than_the_gpu_has_is_refused():
    card = replace(CARDS["H100"], memory_gib=0)
    (case,) = planned(card, [PYTORCH], [LENET], SETTINGS)
    assert case.reason == f"needs at least {case.least_bytes / GIB:.1f} GiB, the GPU has 0"


def test_memory_is_weights_gradients_slots_examples_and_outputs():
    outline = SETTINGS.outline(PYTORCH, LENET, ANY_SHAPE, DEVICES["gpu"])
    network, recipe = outline.network, outline.recipe
    state = (2 + recipe.optimizer.slots) * network.parameter_count
    examples = outline.dataset.train_examples * prod(LENET.input_shape)
    outputs = recipe.batch_size * sum(
        prod(placed.inferred.output) for placed in network.layers if placed.inferred.multiply_adds
    )
    assert least_bytes(outline) == 4 * (state + examples + outputs)


def test_with_a_pipeline_only_a_batch_is_on_the_gpu():
    outline = SETTINGS.outline(PYTORCH, LENET, ANY_SHAPE, DEVICES["gpu"])
    piped = replace(outline, recipe=replace(outline.recipe, input="pipeline"))
    batch, all_examples = outline.recipe.batch_size, outline.dataset.train_examples
    assert least_bytes(outline) - least_bytes(piped) == 4 * (all_examples - batch) * prod(LENET.input_shape)


def test_a_faster_gpu_needs_less_time_for_a_large_network():
    full = replace(SETTINGS, scale="full")
    outline = full.outline(PYTORCH, LARGE, ANY_SHAPE, DEVICES["gpu"])
    on_h100, on_t4 = (parts_of(outline, CARDS[name]).timed_seconds for name in ("H100", "T4"))
    assert on_h100 < on_t4 / 4


@pytest.mark.parametrize("framework", ["pytorch", "jax", "tensorflow", "tinygrad"])
def test_a_run_is_expected_to_last_as_long_as_its_scale_asks_for_and_its_start_besides(framework):
    (case,) = plan("H100", framework, models=(LARGE,))
    assert case.parts.timed_seconds >= SCALES["quick"].least_seconds
    starting, building, first = MEASURED[framework]
    assert case.parts.start_seconds == starting + building + DEVICE_SECONDS
    assert case.parts.first_step_seconds > first
    assert case.expected_seconds == case.parts.total > case.parts.timed_seconds + case.parts.start_seconds


def test_no_more_steps_are_expected_than_twice_those_that_last_long_enough():
    parts = parts_of(SETTINGS.outline(PYTORCH, LENET, ANY_SHAPE, DEVICES["gpu"]), CARDS["H100"])
    assert parts.timed_seconds < 2 * SCALES["quick"].least_seconds


def test_what_compiles_takes_longer_for_a_network_of_more_layers():
    jax = FRAMEWORKS["jax"]
    small, large = (
        parts_of(SETTINGS.outline(jax, model, ANY_SHAPE, DEVICES["gpu"]), CARDS["H100"]) for model in (LENET, LARGE)
    )
    assert small.first_step_seconds == MEASURED["jax"][2]
    assert large.first_step_seconds > 5 * small.first_step_seconds


def test_the_end_of_a_short_recipe_ends_a_run_before():
    outline = SETTINGS.outline(PYTORCH, LENET, ANY_SHAPE, DEVICES["gpu"])
    short = replace(outline, case=replace(outline.case, dataset="digits28"), recipe_steps=outline.steps + 1)
    parts = parts_of(short, CARDS["H100"])
    assert (parts.steps, parts.timed_seconds < 1) == (outline.steps + 1, True)


SECONDS = {"s": 1.0, "ms": 1e-3}


def test_what_was_measured_is_the_table_of_the_documentation():
    page = Path(__file__).parents[2] / "docs" / "reference" / "framework-comparison.md"
    table = page.read_text("utf-8").partition("## On digits")[2].partition("## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    found = {}
    for name, _, _, *times, _, _, _ in rows[2:]:
        first, building, starting = (float(time.split()[0]) * SECONDS[time.split()[1]] for time in times)
        found[name] = pytest.approx((starting, building, first))
    assert {name: found[name] for name in MEASURED} == MEASURED
    assert len(infer(MODELS["tartu-mnist-cnn"]).layers) == MEASURED_LAYERS


def test_every_framework_with_code_for_gpus_was_measured():
    assert {name for name, framework in FRAMEWORKS.items() if framework.gpu_needs or framework.gpu_environments} == {
        *MEASURED
    }
