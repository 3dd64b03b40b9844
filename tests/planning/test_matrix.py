"""Axes become cells; combinations that do not fit together are skipped with a reason."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.data import ANY_SHAPE, DATASETS
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.model import SoftmaxCrossEntropy
from pytest_dlbench.planning.matrix import cells, misfit
from pytest_dlbench.records import SkippedCell
from pytest_dlbench.zoo import MODELS

LENET, CIFAR_CNN = MODELS["gatech-lenet"], MODELS["tartu-cifar10-cnn"]
DIGITS28, DIGITS32 = DATASETS["digits28"], DATASETS["digits32"]
PYTORCH, JAX = FRAMEWORKS["pytorch"], FRAMEWORKS["jax"]
CPU = DEVICES["cpu"]

law = settings(deadline=None)


def ids(found):
    return [each.id for each in found]


def test_a_cell_is_named_by_its_values_in_the_order_of_the_axes():
    taken, _ = cells({"framework": [PYTORCH], "model": [LENET], "dataset": [DIGITS28], "device": [CPU]})
    assert ids(taken) == ["pytorch-gatech-lenet-digits28-cpu"]


def test_a_cell_has_the_values_themselves():
    taken, _ = cells({"framework": [JAX], "model": [LENET], "dataset": [DIGITS28], "device": [CPU]})
    assert taken[0].values == (JAX, LENET, DIGITS28, CPU)


def test_the_last_axis_changes_first():
    taken, _ = cells({"framework": [PYTORCH, JAX], "dataset": [DIGITS28, DIGITS32]})
    assert ids(taken) == ["pytorch-digits28", "pytorch-digits32", "jax-digits28", "jax-digits32"]


def test_a_model_and_data_set_that_do_not_fit_are_skipped_for_every_framework():
    taken, skipped = cells({"framework": [PYTORCH, JAX], "model": [LENET], "dataset": [DIGITS28, DIGITS32]})
    assert ids(taken) == ["pytorch-gatech-lenet-digits28", "jax-gatech-lenet-digits28"]
    assert ids(skipped) == ["pytorch-gatech-lenet-digits32", "jax-gatech-lenet-digits32"]


def test_a_skipped_cell_says_which_shapes_differ():
    _, skipped = cells({"model": [CIFAR_CNN], "dataset": [DIGITS28]})
    assert skipped == [
        SkippedCell(id="tartu-cifar10-cnn-digits28", reason="tartu-cifar10-cnn takes 3×32×32, digits28 has 1×28×28")
    ]


def test_a_skipped_cell_says_which_classes_differ():
    _, skipped = cells({"model": [replace(LENET, head=SoftmaxCrossEntropy(classes=26))], "dataset": [DIGITS28]})
    assert [each.reason for each in skipped] == ["gatech-lenet is trained for 26 classes, digits28 has 10 classes"]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_synthetic_data_fits_every_model(name):
    purpose = "training" if MODELS[name].head.is_trained else "inference"
    assert misfit(MODELS[name], ANY_SHAPE, purpose) == ""


def test_a_model_without_a_loss_is_not_trained():
    assert misfit(MODELS["rosetta-resnet50-features"], ANY_SHAPE) == (
        "rosetta-resnet50-features is applied and not trained"
    )


def test_inference_takes_any_data_of_the_right_shape():
    of_other_classes = replace(LENET, head=SoftmaxCrossEntropy(classes=26))
    assert misfit(of_other_classes, DIGITS28, "inference") == ""
    assert misfit(of_other_classes, DIGITS32, "inference") == "gatech-lenet takes 1×28×28, digits32 has 3×32×32"


def test_a_fitting_pair_has_no_misfit():
    assert misfit(LENET, DIGITS28) == ""


@pytest.mark.parametrize("axes", [{"model": [LENET, CIFAR_CNN]}, {"dataset": [DIGITS28, DIGITS32]}], ids=list)
def test_with_only_one_of_the_two_axes_nothing_is_skipped(axes):
    taken, skipped = cells(axes)
    assert (len(taken), skipped) == (2, [])


def test_the_axes_may_come_in_any_order():
    _, skipped = cells({"dataset": [DIGITS32], "device": [CPU], "model": [LENET]})
    assert ids(skipped) == ["digits32-cpu-gatech-lenet"]


def test_an_empty_axis_gives_no_cells():
    assert cells({"framework": [], "model": [LENET]}) == ([], [])


def some_of(values):
    return st.lists(st.sampled_from(list(values)), unique_by=lambda value: value.name)


@law
@given(some_of(FRAMEWORKS.values()), some_of(MODELS.values()), some_of([*DATASETS.values(), ANY_SHAPE]))
def test_every_combination_is_either_taken_or_skipped_with_a_reason(frameworks, models, datasets):
    taken, skipped = cells({"framework": frameworks, "model": models, "dataset": datasets})
    assert len(set(ids(taken) + ids(skipped))) == len(frameworks) * len(models) * len(datasets)
    assert all(each.reason for each in skipped)


@law
@given(some_of(MODELS.values()), some_of(DATASETS.values()))
def test_every_cell_that_is_taken_fits(models, datasets):
    taken, _ = cells({"model": models, "dataset": datasets})
    assert all(model.input_shape == data.shape for model, data in (cell.values for cell in taken))
