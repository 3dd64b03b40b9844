"""1,797 real scans of handwritten digits, 8×8, without a download.

Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository (1998),
doi:10.24432/C50P49, CC BY 4.0; the test part. ``digits.csv.gz`` has a line for each image, 64 pixels from 0 to 16 and
the digit, and is the file that scikit-learn has. The split is fixed in ``digits_test_index.txt``: 360 test images,
stratified by digit.
"""

from functools import partial
from typing import TYPE_CHECKING

from pytest_dlbench.data.dataset import Arrays, Dataset

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXAMPLES = 1797
TEST_EXAMPLES = 360


def _load() -> "tuple[NDArray[np.float32], NDArray[np.int64]]":
    import gzip
    from importlib import resources

    import numpy as np

    packed = resources.files("pytest_dlbench.data").joinpath("digits.csv.gz").read_bytes()
    rows = np.loadtxt(gzip.decompress(packed).decode().splitlines(), delimiter=",")
    return (rows[:, :-1].reshape(-1, 1, 8, 8) / 16).astype(np.float32), rows[:, -1].astype(np.int64)


def held_out_index() -> "NDArray[np.int64]":
    """The indices of the test images among the 1,797."""
    from importlib import resources

    import numpy as np

    lines = resources.files("pytest_dlbench.data").joinpath("digits_test_index.txt").read_text("utf-8").splitlines()
    return np.array([int(line) for line in lines if not line.startswith("#")])


def enlarged(*, scale: int, margin: int, channels: int) -> Arrays:
    """Every pixel ``scale``×``scale``, an empty margin on each side, and the same image in every channel."""
    import numpy as np

    images, labels = _load()
    images = images.repeat(scale, axis=2).repeat(scale, axis=3).repeat(channels, axis=1)
    images = np.pad(images, ((0, 0), (0, 0), (margin, margin), (margin, margin)))
    is_test = np.zeros(len(labels), dtype=bool)
    is_test[held_out_index()] = True
    return Arrays(
        train_inputs=images[~is_test],
        train_labels=labels[~is_test],
        test_inputs=images[is_test],
        test_labels=labels[is_test],
    )


def _make(scale: int, margin: int, channels: int) -> Arrays:
    return enlarged(scale=scale, margin=margin, channels=channels)


def _digits(name: str, *, scale: int, margin: int, channels: int) -> Dataset:
    side = 8 * scale + 2 * margin
    return Dataset(
        name=name,
        version=1,
        shape=(channels, side, side),
        classes=10,
        train_examples=EXAMPLES - TEST_EXAMPLES,
        test_examples=TEST_EXAMPLES,
        make=partial(_make, scale, margin, channels),
    )


DATASETS = (
    _digits("digits", scale=1, margin=0, channels=1),
    _digits("digits28", scale=3, margin=2, channels=1),  # in place of MNIST
    _digits("digits32", scale=4, margin=0, channels=3),  # in place of CIFAR
)
