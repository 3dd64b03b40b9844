"""The arrays of SVHN, from MATLAB files: ``X`` uint8 32×32×3×N, ``y`` N×1 from 1 to 10."""

import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.data.pixels import scaled
from pytest_dlbench.errors import DataError

SHAPE = (32, 32, 3)
# What SciPy raises for files that are no MATLAB files, or are cut short.
DAMAGES = (MatReadError, zlib.error, ValueError, TypeError, EOFError, OSError, NotImplementedError)


def read(train: Path, test: Path) -> Arrays:
    """Both splits; raises DataError for a file that is none of SVHN's."""
    train_pixels, train_labels = _read(train)
    test_pixels, test_labels = _read(test)
    return Arrays(
        train_inputs=scaled(train_pixels),
        train_labels=train_labels,
        test_inputs=scaled(test_pixels),
        test_labels=test_labels,
    )


def _read(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    try:
        variables = loadmat(path, variable_names=("X", "y"))
    except DAMAGES as error:
        raise DataError(f"{path} is no MATLAB file that can be read: {error}\n  get it again") from error
    pixels, labels = variables.get("X"), variables.get("y")
    if pixels is None or labels is None or pixels.ndim != 4 or pixels.shape[:3] != SHAPE or pixels.dtype != np.uint8:
        found = {name: getattr(array, "shape", None) for name, array in (("X", pixels), ("y", labels))}
        raise DataError(f"{path} has {found}, wanted are X of uint8 32×32×3×N and y of N×1")
    labels = labels.reshape(-1).astype(np.int64)
    if labels.min(initial=1) < 1 or labels.max(initial=1) > 10:
        raise DataError(f"{path} has labels from {labels.min()} to {labels.max()}, wanted are 1 to 10")
    # The digit 0 has the label 10 there.
    return pixels.transpose(3, 2, 0, 1), labels % 10
