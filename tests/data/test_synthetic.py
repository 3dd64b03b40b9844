"""Synthetic images: of any shape, reproducible, and learnable."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.data import ANY_SHAPE, synthetic

law = settings(deadline=None, max_examples=20)
shapes = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)


def nearest_prototype(arrays, classes):
    """Labels of the test images by the nearest mean of the training images."""
    train, test = (images.reshape(len(images), -1) for images in (arrays.train_inputs, arrays.test_inputs))
    means = np.stack([train[arrays.train_labels == label].mean(axis=0) for label in range(classes)])
    squares = (means**2).sum(axis=1) - 2 * test @ means.T
    return squares.argmin(axis=1)


@law
@given(shapes, st.integers(1, 12))
def test_any_shape_can_be_created(shape, classes):
    arrays = synthetic(shape, classes).make()
    assert (arrays.train_inputs.shape, arrays.test_inputs.shape) == ((1280, *shape), (320, *shape))


@law
@given(shapes, st.integers(1, 12))
def test_a_data_set_has_the_examples_that_it_declares(shape, classes):
    made = synthetic(shape, classes)
    arrays = made.make()
    assert (made.train_examples, made.test_examples) == (len(arrays.train_labels), len(arrays.test_labels))


@law
@given(shapes, st.integers(1, 12))
def test_every_class_has_its_share_of_the_examples(shape, classes):
    counts = np.bincount(synthetic(shape, classes).make().train_labels, minlength=classes)
    assert len(counts) == classes
    assert counts.max() - counts.min() <= 1


@law
@given(shapes)
def test_images_are_float32_from_0_to_1(shape):
    images = synthetic(shape, 10).make().train_inputs
    assert images.dtype == np.float32
    assert images.min() >= 0
    assert images.max() <= 1


def test_the_data_are_reproducible():
    one, other = (synthetic((1, 8, 8), 10).make() for _ in range(2))
    for part in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


def test_training_and_test_images_differ():
    arrays = synthetic((1, 8, 8), 10).make()
    assert not {bytes(image) for image in arrays.train_inputs} & {bytes(image) for image in arrays.test_inputs}


@pytest.mark.parametrize(("shape", "classes"), [((1, 28, 28), 10), ((3, 16, 16), 100), ((64,), 10)])
def test_the_nearest_prototype_classifies_more_than_90_percent(shape, classes):
    arrays = synthetic(shape, classes).make()
    assert np.mean(nearest_prototype(arrays, classes) == arrays.test_labels) > 0.9


def test_shape_and_classes_are_in_the_name():
    assert synthetic((3, 32, 32), 100).name == "synthetic-3x32x32-100"


def test_the_data_set_of_one_shape_is_one_object():
    assert synthetic((5,), 3) is synthetic((5,), 3)


def test_on_an_axis_it_has_neither_shape_nor_classes():
    assert (ANY_SHAPE.name, ANY_SHAPE.shape, ANY_SHAPE.classes) == ("synthetic", None, None)
