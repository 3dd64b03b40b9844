"""ImageNet, ILSVRC 2012: 1.3 million photographs of 1,000 classes, in the usual folders of JPEG files.

Source: O. Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge (2015). A login is needed, so the
folders can only be imported: ``train/<WordNet id>/*.JPEG`` and ``val/<WordNet id>/*.JPEG``; classes are numbered in the
order of their ids. Images are resized to 256 at the shorter side, then cropped to the central 224×224.

``imagenet`` takes 770 GB when prepared as float32. ``imagenet-sample`` is the first ten training and two validation
images of each class, 7.2 GB, which is more than runs at scale quick read.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset, Rows
from pytest_dlbench.data.source import Source
from pytest_dlbench.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KINDS = 1000
SIDE = 224

SOURCE = Source(
    name="imagenet",
    about="1.3 million photographs of 1,000 classes, 150 GB; a login is needed",
    page="https://www.image-net.org/challenges/LSVRC/2012/",
    contents=("train/*/*.JPEG", "val/*/*.JPEG"),
)


def read(folder: Path, *, side: int, of_each: tuple[int | None, int | None]) -> Arrays:
    """Both splits, with the first ``of_each`` images of each class by name, or all (None).

    Raises DataError for a class that only one of the splits has, and for a file that is not an image.
    """
    kinds = {
        split: sorted(path.name for path in (folder / split).iterdir() if path.is_dir()) for split in ("train", "val")
    }
    if kinds["train"] != kinds["val"]:
        odd = sorted(set(kinds["train"]) ^ set(kinds["val"]))
        raise DataError(
            f"{folder}: train and val differ in classes: {', '.join(odd[:5])}; see dlbench data verify imagenet"
        )
    train_inputs, train_labels = _split(folder / "train", kinds["train"], side, of_each[0])
    test_inputs, test_labels = _split(folder / "val", kinds["val"], side, of_each[1])
    return Arrays(
        train_inputs=train_inputs, train_labels=train_labels, test_inputs=test_inputs, test_labels=test_labels
    )


def _split(folder: Path, kinds: list[str], side: int, most: int | None) -> "tuple[Rows, NDArray[np.int64]]":
    import numpy as np

    from pytest_dlbench.data.photographs import centre, decoded

    of_kinds = [sorted((folder / kind).glob("*.JPEG"))[:most] for kind in kinds]
    labels = np.repeat(np.arange(len(kinds), dtype=np.int64), [len(paths) for paths in of_kinds])
    return decoded([path for paths in of_kinds for path in paths], side, centre), labels


def _make(of_each: tuple[int | None, int | None]) -> Arrays:
    return read(folder_of(SOURCE), side=SIDE, of_each=of_each)


def _imagenet(name: str, train: int, test: int, of_each: tuple[int | None, int | None]) -> Dataset:
    return Dataset(
        name=name,
        version=1,
        shape=(3, SIDE, SIDE),
        classes=KINDS,
        train_examples=train,
        test_examples=test,
        make=partial(_make, of_each),
        source=SOURCE,
    )


DATASETS = (
    _imagenet("imagenet", 1_281_167, 50_000, (None, None)),
    _imagenet("imagenet-sample", 10 * KINDS, 2 * KINDS, (10, 2)),
)
