"""MNIST: 70,000 handwritten digits, 28×28, in the official IDX files.

Source: Y. LeCun, C. Cortes, C. Burges, The MNIST database (1998). The original host no longer answers reliably, so the
files come from a mirror; checksums verify that they are the same.
"""

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source
from pytest_dlbench.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_CHECKSUMS = {
    "train-images-idx3-ubyte": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}

SOURCE = Source(
    name="mnist",
    about="70,000 handwritten digits, 11 MiB compressed",
    page="http://yann.lecun.com/exdb/mnist/",
    contents=tuple(_CHECKSUMS),
    files=tuple(
        File(name=f"{name}.gz", url=f"{_MIRROR}{name}.gz", checksum=checksum) for name, checksum in _CHECKSUMS.items()
    ),
)

# The last byte of a magic number is the number of dimensions that follow it.
LABELS_MAGIC = 2049
IMAGES_MAGIC = 2051


def read(folder: Path) -> Arrays:
    """Both splits; raises DataError for a file that does not match its name."""
    import numpy as np

    from pytest_dlbench.data.pixels import scaled

    images, labels = "{}-images-idx3-ubyte", "{}-labels-idx1-ubyte"
    return Arrays(
        train_inputs=scaled(read_idx(folder / images.format("train"), IMAGES_MAGIC)[:, None]),
        train_labels=read_idx(folder / labels.format("train"), LABELS_MAGIC).astype(np.int64),
        test_inputs=scaled(read_idx(folder / images.format("t10k"), IMAGES_MAGIC)[:, None]),
        test_labels=read_idx(folder / labels.format("t10k"), LABELS_MAGIC).astype(np.int64),
    )


def read_idx(path: Path, magic: int) -> "NDArray[np.uint8]":
    """The bytes of an IDX file in the shape given by its header."""
    import numpy as np

    content = path.read_bytes()
    found = int.from_bytes(content[:4])
    if found != magic:
        kind = "images" if magic == IMAGES_MAGIC else "labels"
        raise DataError(f"{path} begins with {found}, IDX files of {kind} begin with {magic}; is it a different file?")
    dimensions = magic % 256
    header = content[4 : 4 + 4 * dimensions]
    shape = tuple(int(size) for size in np.frombuffer(header, dtype=">u4", count=len(header) // 4))
    body = len(content) - 4 - 4 * dimensions
    if len(shape) != dimensions or body != prod(shape):
        raise DataError(f"{path} should have {shape} values but has {max(0, body)}; it is truncated, or not MNIST's")
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def _make() -> Arrays:
    return read(folder_of(SOURCE))


DATASETS = (
    Dataset(
        name="mnist",
        version=1,
        shape=(1, 28, 28),
        classes=10,
        train_examples=60_000,
        test_examples=10_000,
        make=_make,
        source=SOURCE,
    ),
)
