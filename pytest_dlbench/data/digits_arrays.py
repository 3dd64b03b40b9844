"""The arrays of the digits: read, enlarged, split."""

from importlib import resources

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.errors import DataError


def _load() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    try:
        from sklearn.datasets import load_digits  # noqa: PLC0415 - an extra, that other data sets do without
    except ImportError as error:
        raise DataError(
            "the digits come with scikit-learn, which is not installed here; pip install 'pytest-dlbench[bench]'"
        ) from error
    digits = load_digits()
    return (digits.images[:, None] / 16).astype(np.float32), digits.target.astype(np.int64)


def held_out_index() -> NDArray[np.int64]:
    """The positions of the test images among scikit-learn's 1,797."""
    lines = resources.files("pytest_dlbench.data").joinpath("digits_test_index.txt").read_text().splitlines()
    return np.array([int(line) for line in lines if not line.startswith("#")])


def enlarged(*, scale: int, margin: int, channels: int) -> Arrays:
    """Every pixel ``scale``×``scale``, an empty margin on each side, and the same image in every channel."""
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
