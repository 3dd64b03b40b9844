"""Images with boxes: the generated shapes, and folders of VOC 2012 that are read for real."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS, shapes
from pytest_dlbench.data.boxes import Object, padded
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.data.voc import split
from pytest_dlbench.errors import DataError
from tests.data.test_photographs import annotation
from tests.doubles.official_files import picture

VOC = DATASETS["voc2012"]


@pytest.fixture(scope="module")
def drawn():
    return list(shapes.drawings(40, seed=1))


def test_rows_of_zeros_follow_the_last_object():
    thing = Object(left=1, top=2, right=3.5, bottom=4, kind=2, is_difficult=True)
    assert padded([[thing], []], 2).tolist() == [[[1, 2, 3.5, 4, 2, 1], [0] * 6], [[0] * 6] * 2]


def test_more_objects_than_rows_are_refused():
    thing = Object(left=1, top=2, right=3, bottom=4, kind=1)
    with pytest.raises(DataError, match="image 0 has 2 objects, a label has room for 1"):
        padded([[thing, thing]], 1)


def test_a_drawn_object_touches_all_edges_of_its_box_and_nothing_outside_it(drawn):
    alone = [(pixels, objects[0]) for pixels, objects in drawn if len(objects) == 1]
    assert len(alone) > 5
    for pixels, thing in alone:
        rows, columns = np.nonzero((pixels > 96).all(axis=0))
        # The upper corner of a triangle and the ends of an ellipse may be thinner than a pixel.
        found = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
        box = thing.left, thing.top, thing.right, thing.bottom
        assert np.abs(np.subtract(found, box)).max() <= 1
        inside = np.subtract(found, box) * (1, 1, -1, -1)
        assert (inside >= 0).all()


def test_all_kinds_and_up_to_four_objects_are_drawn(drawn):
    assert {thing.kind for _, objects in drawn for thing in objects} == {1, 2, 3}
    assert {len(objects) for _, objects in drawn} == {1, 2, 3, 4}


def test_the_test_split_of_the_shapes_is_held_out(users_cache):
    made = prepare(DATASETS["shapes"])
    train, test = (np.load(made.part(f"{name}_inputs")) for name in ("train", "test"))
    assert (len(train), len(test)) == (512, 128)
    assert not {image.tobytes() for image in train} & {image.tobytes() for image in test}


def test_shapes_written_as_a_folder_of_voc_are_read_as_they_were_drawn(tmp_path):
    shapes.write(tmp_path, 5)
    inputs, labels = split(tmp_path, "train", shapes.SIDE, None, shapes.KINDS)
    drawn = list(shapes.drawings(5, shapes.SEED))
    np.testing.assert_array_equal(labels, padded([objects for _, objects in drawn], labels.shape[1]))
    (images,) = inputs.pieces()
    # JPEG at quality 100 is a few steps off, where the noise is largest.
    assert np.abs(images * 255 - np.stack([pixels for pixels, _ in drawn])).mean() < 1.5


def test_a_photograph_of_voc_and_its_boxes_are_resized_together(prepared_of):
    folder = "VOCdevkit/VOC2012"
    files = {f"{folder}/Annotations/{name}.xml": annotation(corners=(11, 21, 100, 80)) for name in "ab"}
    files |= {f"{folder}/JPEGImages/{name}.jpg": picture("JPEG", size=(100, 80)) for name in "ab"}
    files |= {f"{folder}/ImageSets/Main/{name}.txt": f"{image}\n" for name, image in (("train", "a"), ("val", "b"))}
    arrays = prepared_of(VOC, files, examples=(1, 1))
    assert arrays.train_inputs.shape == (1, 3, 600, 600)
    # The longer side of 100 pixels becomes 600; a dog is class 12, and the annotation calls it difficult.
    assert arrays.train_labels[0, 0].tolist() == [60, 120, 600, 480, 12, 1]
    assert not arrays.train_labels[0, 1:].any()
    assert not arrays.train_inputs[0, :, 480:].any()


def test_a_class_beyond_the_declared_ones_is_refused(users_cache):
    broken = replace(DATASETS["shapes"], name="broken", classes=2)
    with pytest.raises(DataError, match=r"labels from 0\.0 to 3\.0, not 0 to 2"):
        prepare(broken)
