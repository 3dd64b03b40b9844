"""The arrays of MNIST, from its IDX files: a header of big-endian 32-bit numbers, then one byte for each value."""

from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.data.pixels import scaled
from pytest_dlbench.errors import DataError

# The last byte of a magic number is how many dimensions follow it.
LABELS_MAGIC = 2049
IMAGES_MAGIC = 2051


def read(folder: Path) -> Arrays:
    """Both splits; raises DataError for a file that is not what its name says."""
    images, labels = "{}-images-idx3-ubyte", "{}-labels-idx1-ubyte"
    return Arrays(
        train_inputs=scaled(read_idx(folder / images.format("train"), IMAGES_MAGIC)[:, None]),
        train_labels=read_idx(folder / labels.format("train"), LABELS_MAGIC).astype(np.int64),
        test_inputs=scaled(read_idx(folder / images.format("t10k"), IMAGES_MAGIC)[:, None]),
        test_labels=read_idx(folder / labels.format("t10k"), LABELS_MAGIC).astype(np.int64),
    )


def read_idx(path: Path, magic: int) -> NDArray[np.uint8]:
    """The bytes of an IDX file in the shape that its header tells."""
    content = path.read_bytes()
    found = int.from_bytes(content[:4])
    if found != magic:
        kind = "images" if magic == IMAGES_MAGIC else "labels"
        raise DataError(f"{path} begins with {found}, IDX files of {kind} begin with {magic}; is it another file?")
    dimensions = magic % 256
    header = content[4 : 4 + 4 * dimensions]
    shape = tuple(int(size) for size in np.frombuffer(header, dtype=">u4", count=len(header) // 4))
    body = len(content) - 4 - 4 * dimensions
    if len(shape) != dimensions or body != prod(shape):
        raise DataError(f"{path} tells of {shape} values and has {max(0, body)}; it is cut short, or not MNIST's")
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)
