"""A data set as a folder of JPEG files."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from pytest_dlbench.data import DATASETS, Rows, synthetic
from pytest_dlbench.data.held_out import validated
from pytest_dlbench.data.jpeg import as_jpeg, not_jpeg, path_of
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.errors import DataError

DIGITS = DATASETS["digits"]
COLOURED = synthetic((3, 12, 16), 4)


@pytest.mark.parametrize("dataset", [DIGITS, COLOURED], ids=["grey", "coloured"])
def test_files_of_classes_decode_to_the_prepared_pixels(dataset, tmp_path):
    prepared = prepare(as_jpeg(dataset), tmp_path)
    inputs, labels = (np.load(prepared.part(f"train_{name}")) for name in ("inputs", "labels"))
    assert inputs.shape == (dataset.train_examples, *dataset.shape)
    for number in (0, 1, len(labels) - 1):
        levels = np.array(Image.open(prepared.folder / path_of(labels[number], number)))
        assert np.array_equal(np.atleast_3d(levels).transpose(2, 0, 1) / np.float32(255), inputs[number])
    assert len(list(prepared.folder.glob("train/*/*.jpeg"))) == len(labels)


def test_pixels_are_nearly_those_of_the_data_set(tmp_path):
    whole, prepared = DATASETS["digits28"].make(), prepare(as_jpeg(DATASETS["digits28"]), tmp_path)
    assert 0 < np.abs(np.load(prepared.part("test_inputs")) - whole.test_inputs).mean() < 0.02
    assert np.array_equal(np.load(prepared.part("train_labels")), whole.train_labels)


def test_the_digest_is_of_the_files_too_and_a_lost_file_is_written_again(tmp_path):
    first = prepare(as_jpeg(DIGITS), tmp_path)
    (lost,) = first.folder.glob("train/*/000007.jpeg")
    lost.unlink()
    again = prepare.__wrapped__(as_jpeg(DIGITS), tmp_path)
    assert lost.exists()
    assert again.digest == first.digest != prepare(DIGITS, tmp_path).digest


def test_inputs_that_are_made_in_pieces_are_encoded_alike(tmp_path):
    whole = DIGITS.make()
    rows = Rows(shape=whole.train_inputs.shape, pieces=lambda: iter(np.array_split(whole.train_inputs, 7)))
    pieces = as_jpeg(replace(DIGITS, make=lambda: replace(whole, train_inputs=rows))).make()
    assert pieces.extras == as_jpeg(DIGITS).make().extras


def test_files_of_a_validated_data_set_are_of_its_own_training_part(tmp_path):
    prepared = prepare(as_jpeg(validated(DIGITS)), tmp_path)
    assert len(list(prepared.folder.glob("train/*/*.jpeg"))) == validated(DIGITS).train_examples


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pydoc30", "has images of one class each, in grey or colours, which pydoc30 has not"),
        ("shapes", "which shapes has not"),
        ("imagenet-sample", r"imagenet-sample has 6.7 GiB of pixels, and more than 2 are not encoded"),
    ],
)
def test_other_data_is_refused(name, reason):
    assert reason in not_jpeg(DATASETS[name])
    with pytest.raises(DataError, match=reason):
        as_jpeg(DATASETS[name])
