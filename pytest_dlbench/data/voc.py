"""PASCAL VOC 2012: 11,540 photographs with boxes around objects of 20 classes.

Source: M. Everingham et al., The PASCAL Visual Object Classes Challenge 2012. The training split has 5,717 images, the
validation split, here the test split, 5,823; the boxes of the official test split were never published. Photographs
are resized to 600 pixels at the longer side; the rest of the square, below or on the right, is black.

``voc2012`` takes 50 GB when prepared as float32. ``voc2012-sample`` is the first 400 training and 100 validation
images, 2.2 GB, which is more than runs at scale quick read.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset, Rows
from pytest_dlbench.data.source import File, Source
from pytest_dlbench.data.voc_annotations import KINDS, Photograph, photographs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_dlbench.data.boxes import Object

SIDE = 600
MOST_OBJECTS = 64

SOURCE = Source(
    name="voc2012",
    about="11,540 photographs with boxes around objects, 1.9 GiB",
    page="http://host.robots.ox.ac.uk/pascal/VOC/voc2012/",
    contents=(
        "VOCdevkit/VOC2012/Annotations/*.xml",
        "VOCdevkit/VOC2012/ImageSets/Main/*.txt",
        "VOCdevkit/VOC2012/JPEGImages/*.jpg",
    ),
    files=(
        File(
            name="VOCtrainval_11-May-2012.tar",
            url="http://host.robots.ox.ac.uk/pascal/VOC/voc2012/VOCtrainval_11-May-2012.tar",
            checksum="md5:6cd6e144f989b92b3379bac3b3de84fd",
        ),
    ),
)


def read(folder: Path, *, side: int, first: tuple[int | None, int | None]) -> Arrays:
    """Both splits, or the ``first`` images of each; raises DataError for files that cannot be read."""
    train_inputs, train_labels = split(folder, "train", side, first[0])
    test_inputs, test_labels = split(folder, "val", side, first[1])
    return Arrays(
        train_inputs=train_inputs, train_labels=train_labels, test_inputs=test_inputs, test_labels=test_labels
    )


def split(
    folder: Path, name: Literal["train", "val"], side: int, first: int | None, kinds: tuple[str, ...] = KINDS
) -> "tuple[Rows, NDArray[np.float32]]":
    """The images of a split, N×3×side×side, and their objects, N×MOST_OBJECTS×6."""
    from pytest_dlbench.data.boxes import padded
    from pytest_dlbench.data.photographs import decoded, framed

    taken = list(photographs(folder, name, kinds))[:first]
    labels = padded([_objects(photograph, side, kinds) for photograph in taken], MOST_OBJECTS)
    return decoded([photograph.path for photograph in taken], side, framed), labels


def _objects(photograph: Photograph, side: int, kinds: tuple[str, ...]) -> "list[Object]":
    """The objects in pixels of the resized image. VOC counts from 1, and its last pixels belong to the box."""
    from pytest_dlbench.data.boxes import Object

    scale = side / max(photograph.width, photograph.height)
    return [
        Object(
            left=(box.left - 1) * scale,
            top=(box.top - 1) * scale,
            right=box.right * scale,
            bottom=box.bottom * scale,
            kind=kinds.index(box.kind) + 1,
            is_difficult=box.is_difficult,
        )
        for box in photograph.boxes
    ]


def _make(first: tuple[int | None, int | None]) -> Arrays:
    return read(folder_of(SOURCE), side=SIDE, first=first)


def _voc(name: str, train: int, test: int, first: tuple[int | None, int | None]) -> Dataset:
    return Dataset(
        name=name,
        version=1,
        shape=(3, SIDE, SIDE),
        classes=len(KINDS),
        train_examples=train,
        test_examples=test,
        make=partial(_make, first),
        task="boxes",
        label_shape=(MOST_OBJECTS, 6),
        source=SOURCE,
    )


DATASETS = (_voc("voc2012", 5717, 5823, (None, None)), _voc("voc2012-sample", 400, 100, (400, 100)))
