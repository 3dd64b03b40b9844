"""CIFAR-10 and CIFAR-100: 60,000 colour photographs each, 32×32, in the binary releases: those hold no pickle.

Source: A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009). CIFAR-100 has two labels for each
image; these are the 100 fine ones. (In tartu's repository one framework trains on the 20 coarse ones, and another one
reads the planes of colours as if they were pixels.)
"""

from functools import partial

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source

_PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
_HOST = "https://www.cs.toronto.edu/~kriz/"

TRAIN_FILES_10 = tuple(f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6))
TEST_FILE_10 = "cifar-10-batches-bin/test_batch.bin"
TRAIN_FILES_100 = ("cifar-100-binary/train.bin",)
TEST_FILE_100 = "cifar-100-binary/test.bin"

SOURCE_10 = Source(
    name="cifar10",
    about="60,000 photographs of 10 kinds of things, 162 MiB packed",
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
    about="60,000 photographs of 100 kinds of things, 161 MiB packed",
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


def _make(source: Source, train: tuple[str, ...], test: str, label_bytes: int) -> Arrays:
    # Late: NumPy is slow to load, and needed once for each cache.
    from pytest_dlbench.data.cifar_arrays import read  # noqa: PLC0415

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
