"""The arrays of the two CIFARs: records of label bytes and 3,072 pixels, a plane of 32×32 for each of three colours."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.data.pixels import scaled
from pytest_dlbench.errors import DataError

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32


def read(train: Sequence[Path], test: Sequence[Path], *, label_bytes: int) -> Arrays:
    """Both splits; of several label bytes the last is the label. Raises DataError for a file of broken records."""
    train_records, test_records = (
        np.concatenate([_records(path, label_bytes) for path in paths]) for paths in (train, test)
    )
    return Arrays(
        train_inputs=scaled(train_records[:, label_bytes:].reshape(-1, *SHAPE)),
        train_labels=train_records[:, label_bytes - 1].astype(np.int64),
        test_inputs=scaled(test_records[:, label_bytes:].reshape(-1, *SHAPE)),
        test_labels=test_records[:, label_bytes - 1].astype(np.int64),
    )


def _records(path: Path, label_bytes: int) -> NDArray[np.uint8]:
    content = np.fromfile(path, dtype=np.uint8)
    size = label_bytes + PIXELS
    if not len(content) or len(content) % size:
        raise DataError(f"{path} has {len(content)} bytes, that is no whole number of records of {size}; get it again")
    return content.reshape(-1, size)
