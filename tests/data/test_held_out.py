"""The validation split is a part of the training part, and of nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data.dataset import PARTS, Rows
from pytest_dlbench.data.held_out import validated
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.errors import DataError

DIGITS = DATASETS["digits"]


def rows(images):
    return {image.tobytes() for image in images}


@pytest.fixture(scope="module")
def both():
    return DIGITS.make(), validated(DIGITS).make()


def test_no_test_image_is_in_it(both):
    whole, cut = both
    of_test = rows(whole.test_inputs) - rows(whole.train_inputs)
    assert len(of_test) == 360
    assert not of_test & (rows(cut.train_inputs) | rows(cut.test_inputs))


def test_every_training_image_is_in_one_of_the_two_parts(both):
    whole, cut = both
    assert len(cut.train_inputs) + len(cut.test_inputs) == len(whole.train_inputs)
    assert rows(cut.train_inputs) | rows(cut.test_inputs) == rows(whole.train_inputs)
    assert not rows(cut.train_inputs) & rows(cut.test_inputs)


def test_labels_stay_with_their_images(both):
    whole, cut = both
    known = {image.tobytes(): label for image, label in zip(whole.train_inputs, whole.train_labels, strict=True)}
    assert [known[image.tobytes()] for image in cut.test_inputs] == list(cut.test_labels)


def test_it_is_always_the_same_and_a_data_set_like_any_other(both, tmp_path):
    prepared = prepare(validated(DIGITS), tmp_path)
    assert prepared.digest == prepare(validated(DIGITS), tmp_path / "again").digest
    assert np.array_equal(np.load(prepared.part("test_labels")), both[1].test_labels)


def test_too_few_examples_are_refused():
    with pytest.raises(DataError, match="'digits' has 4 training examples"):
        validated(replace(DIGITS, train_examples=4))


def test_inputs_that_are_made_in_pieces_are_divided_alike(both, tmp_path):
    whole, cut = both
    rows = Rows(shape=whole.train_inputs.shape, pieces=lambda: iter(np.array_split(whole.train_inputs, 7)))
    prepared = prepare(validated(replace(DIGITS, make=lambda: replace(whole, train_inputs=rows))), tmp_path)
    for part in PARTS:
        assert np.array_equal(np.load(prepared.part(part)), getattr(cut, part))
