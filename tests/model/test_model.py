"""A model before inference of its shapes: its marks, and the models derived from it."""

import re
from dataclasses import replace

import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import SGD, Conv2D, Dense, Dropout, Flatten, Model, Recipe, ReLU, SoftmaxCrossEntropy, infer

SMALL = Model(
    name="small",
    family="cnn",
    sources=("somewhere", "elsewhere"),
    input_shape=(1, 8, 8),
    layers=(Conv2D(4, 3), Dropout(0.25), Flatten(), Dense(6), ReLU(), Dropout(0.5), Dense(3)),
    head=SoftmaxCrossEntropy(classes=3),
    recipe=Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1)),
)


def test_a_model_without_layers_is_refused():
    with pytest.raises(ModelError, match="model 'small' has no layers"):
        replace(SMALL, layers=())


@pytest.mark.parametrize("shape", [(), (8, 8), (1, 1, 8, 8), (0,), (-4,), (1, 0, 8), (1, 8, -8)])
def test_an_input_that_is_neither_image_nor_vector_is_refused_with_its_shape(shape):
    with pytest.raises(ModelError, match=f"'small': input_shape must be .* got {re.escape(str(shape))}$"):
        replace(SMALL, input_shape=shape)


def test_a_model_for_an_input_that_is_neither_image_nor_vector_is_refused():
    with pytest.raises(ModelError, match="input_shape must be"):
        SMALL.for_input((8, 8))


@pytest.mark.parametrize("shape", [(1,), (1, 1, 1)])
def test_the_smallest_vector_and_image_are_accepted(shape):
    assert replace(SMALL, input_shape=shape).input_shape == shape


def test_a_model_is_marked_with_its_family_and_its_sources():
    assert SMALL.marks == ("cnn", "somewhere", "elsewhere")


def test_a_model_for_another_input_has_its_shape_in_the_name():
    assert SMALL.for_input((3, 9, 10)).name == "small-3x9x10"


def test_a_model_for_another_input_has_the_same_layers():
    assert SMALL.for_input((3, 9, 10)).layers == SMALL.layers


def test_a_model_for_another_input_is_inferred_for_that_input():
    assert infer(SMALL.for_input((3, 9, 10))).layers[0].inferred.output == (4, 7, 8)


def test_a_model_without_dropout_keeps_all_other_layers_in_order():
    assert SMALL.without_dropout().layers == (Conv2D(4, 3), Flatten(), Dense(6), ReLU(), Dense(3))


def test_a_model_without_dropout_has_another_digest():
    assert infer(SMALL.without_dropout()).digest != infer(SMALL).digest


def test_deriving_a_model_does_not_change_the_original():
    before = replace(SMALL)
    SMALL.without_dropout()
    SMALL.for_input((3, 9, 10))
    assert before == SMALL
