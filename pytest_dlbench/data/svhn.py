"""Street View House Numbers, cropped digits, 32×32: the training split, or the "extra" split instead.

Source: Y. Netzer et al., Reading Digits in Natural Images with Unsupervised Feature Learning (2011). tartu's paper
mentions the 73,257 training images (``svhn-train``), its repository trains on the 531,131 extra ones
(``svhn-extra``); both test on the same 26,032. In the files the label 10 means the digit 0.
"""

import zlib
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

_HOST = "http://ufldl.stanford.edu/housenumbers/"
_CHECKSUMS = {
    "train_32x32.mat": "md5:e26dedcc434d2e4c54c9b2d4a06d8373",
    "test_32x32.mat": "md5:eb5a983be6a315427106f1b164d9cef3",
    "extra_32x32.mat": "md5:a93ce644f1a588dc4d68dda5feec44a7",
}

SHAPE = (32, 32, 3)
# Besides its own MatReadError, SciPy raises these for truncated files and files that are not MATLAB files.
DAMAGES = (zlib.error, ValueError, TypeError, EOFError, OSError, NotImplementedError)


def read(train: Path, test: Path) -> Arrays:
    """Both splits; raises DataError for a file that is not one of SVHN's."""
    from pytest_dlbench.data.pixels import scaled

    train_pixels, train_labels = _read(train)
    test_pixels, test_labels = _read(test)
    return Arrays(
        train_inputs=scaled(train_pixels),
        train_labels=train_labels,
        test_inputs=scaled(test_pixels),
        test_labels=test_labels,
    )


def _read(path: Path) -> "tuple[NDArray[np.uint8], NDArray[np.int64]]":
    import numpy as np
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        variables = loadmat(path, variable_names=("X", "y"))
    except (MatReadError, *DAMAGES) as error:
        raise DataError(f"{path} is not a readable MATLAB file: {error}\n  get it again") from error
    pixels, labels = variables.get("X"), variables.get("y")
    if pixels is None or labels is None or pixels.ndim != 4 or pixels.shape[:3] != SHAPE or pixels.dtype != np.uint8:
        found = {name: getattr(array, "shape", None) for name, array in (("X", pixels), ("y", labels))}
        raise DataError(f"{path} has {found}, expected X of uint8 32×32×3×N and y of N×1")
    labels = labels.reshape(-1).astype(np.int64)
    if labels.min(initial=1) < 1 or labels.max(initial=1) > 10:
        raise DataError(f"{path} has labels from {labels.min()} to {labels.max()}, expected 1 to 10")
    # In the files the digit 0 has the label 10.
    return pixels.transpose(3, 2, 0, 1), labels % 10


def _make(source: Source, train: str) -> Arrays:
    folder = folder_of(source)
    return read(folder / train, folder / "test_32x32.mat")


def _svhn(name: str, *, train: str, train_examples: int, about: str) -> Dataset:
    names = (train, "test_32x32.mat")
    source = Source(
        name=name,
        about=about,
        page=_HOST,
        contents=names,
        files=tuple(File(name=each, url=f"{_HOST}{each}", checksum=_CHECKSUMS[each]) for each in names),
    )
    return Dataset(
        name=name,
        version=1,
        shape=(3, 32, 32),
        classes=10,
        train_examples=train_examples,
        test_examples=26_032,
        make=partial(_make, source, train),
        source=source,
    )


DATASETS = (
    _svhn(
        "svhn-train",
        train="train_32x32.mat",
        train_examples=73_257,
        about="house numbers, the training split, 235 MiB",
    ),
    _svhn(
        "svhn-extra",
        train="extra_32x32.mat",
        train_examples=531_131,
        about="house numbers, the extra split, 1.3 GiB, 6.1 GiB prepared",
    ),
)
