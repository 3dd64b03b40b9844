"""ImageNet, ILSVRC 2012: 1.3 million photographs of 1,000 kinds of things, in the usual folders of JPEG files.

Source: O. Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge (2015). A login is needed, so that the
folders can only be imported: ``train/<WordNet id>/*.JPEG`` and ``val/<WordNet id>/*.JPEG``; kinds are numbered by the
order of their ids. Images are the middle 224×224 of their shorter side at 256.

``imagenet`` needs 770 GB when it is prepared as float32. ``imagenet-sample`` is the first ten training and two
validation images of each kind, 7.2 GB, which is more than runs of scale quick see.
"""

from functools import partial

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import Source

KINDS = 1000
SIDE = 224

SOURCE = Source(
    name="imagenet",
    about="1.3 million photographs of 1,000 kinds of things, 150 GB; a login is needed",
    page="https://www.image-net.org/challenges/LSVRC/2012/",
    contents=("train/*/*.JPEG", "val/*/*.JPEG"),
)


def _make(of_each: tuple[int | None, int | None]) -> Arrays:
    # Late: NumPy and Pillow are slow to load, and needed once for each cache.
    from pytest_dlbench.data.imagenet_arrays import read  # noqa: PLC0415

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
