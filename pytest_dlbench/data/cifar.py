"""CIFAR-10 and CIFAR-100: 60,000 colour photographs each, 32×32, from the binary releases, which contain no pickles.

Source: A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009). CIFAR-100 has two labels for each
image; the 100 fine ones are used. (In tartu's repository one framework trains on the 20 coarse ones, and another reads
the colour planes as if they were pixels.)
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source
from pytest_dlbench.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
_HOST = "https://www.cs.toronto.edu/~kriz/"

TRAIN_FILES_10 = tuple(f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6))
TEST_FILE_10 = "cifar-10-batches-bin/test_batch.bin"
TRAIN_FILES_100 = ("cifar-100-binary/train.bin",)
TEST_FILE_100 = "cifar-100-binary/test.bin"

SOURCE_10 = Source(
    name="cifar10",
    about="60,000 photographs of 10 classes of objects, 162 MiB compressed",
    page=_PAGE,
    contents=(*TRAIN_FILES_10, TEST_FILE_10),
    files=(
        File(
            name="cifar-10-binary.tar.gz",
            url=f"{_HOST}cifar-10-binary.tar.gz",
            checksum="md5:c32a1d4ab5d03f1284b67883e8d87530",
        ),
    ),
)
SOURCE_100 = Source(
    name="cifar100",
    about="60,000 photographs of 100 classes of objects, 161 MiB compressed",
    page=_PAGE,
    contents=(*TRAIN_FILES_100, TEST_FILE_100),
    files=(
        File(
            name="cifar-100-binary.tar.gz",
            url=f"{_HOST}cifar-100-binary.tar.gz",
            checksum="md5:03b5dce01913d631647c71ecec9e9cb8",
        ),
    ),
)

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32


def read(train: Sequence[Path], test: Sequence[Path], *, label_bytes: int) -> Arrays:
    """Both splits; the last of several label bytes is the label. Raises DataError for incomplete records."""
    import numpy as np

    from pytest_dlbench.data.pixels import scaled

    train_records, test_records = (
        np.concatenate([_records(path, label_bytes) for path in paths]) for paths in (train, test)
    )
    return Arrays(
        train_inputs=scaled(train_records[:, label_bytes:].reshape(-1, *SHAPE)),
        train_labels=train_records[:, label_bytes - 1].astype(np.int64),
        test_inputs=scaled(test_records[:, label_bytes:].reshape(-1, *SHAPE)),
        test_labels=test_records[:, label_bytes - 1].astype(np.int64),
    )


def _records(path: Path, label_bytes: int) -> "NDArray[np.uint8]":
    import numpy as np

    content = np.fromfile(path, dtype=np.uint8)
    size = label_bytes + PIXELS
    if not len(content) or len(content) % size:
        raise DataError(f"{path} has {len(content)} bytes, not a multiple of the record size {size}; get it again")
    return content.reshape(-1, size)


def _make(source: Source, train: tuple[str, ...], test: str, label_bytes: int) -> Arrays:
    folder = folder_of(source)
    return read([folder / name for name in train], [folder / test], label_bytes=label_bytes)


def _cifar(source: Source, *, classes: int, train: tuple[str, ...], test: str, label_bytes: int) -> Dataset:
    return Dataset(
        name=source.name,
        version=1,
        shape=(3, 32, 32),
        classes=classes,
        train_examples=50_000,
        test_examples=10_000,
        make=partial(_make, source, train, test, label_bytes),
        source=source,
    )


DATASETS = (
    _cifar(SOURCE_10, classes=10, train=TRAIN_FILES_10, test=TEST_FILE_10, label_bytes=1),
    # Coarse label, fine label, pixels.
    _cifar(SOURCE_100, classes=100, train=TRAIN_FILES_100, test=TEST_FILE_100, label_bytes=2),
)
