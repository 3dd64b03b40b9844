"""MNIST: 70,000 handwritten digits, 28×28, in the official IDX files.

Source: Y. LeCun, C. Cortes, C. Burges, The MNIST database (1998). The first host no longer answers reliably, so that
the files come from a mirror, and their checksums say that they are the same.
"""

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source

_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_CHECKSUMS = {
    "train-images-idx3-ubyte": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}

SOURCE = Source(
    name="mnist",
    about="70,000 handwritten digits, 11 MiB packed",
    page="http://yann.lecun.com/exdb/mnist/",
    contents=tuple(_CHECKSUMS),
    files=tuple(
        File(name=f"{name}.gz", url=f"{_MIRROR}{name}.gz", checksum=checksum) for name, checksum in _CHECKSUMS.items()
    ),
)


def _make() -> Arrays:
    # Late: NumPy is slow to load, and needed once for each cache.
    from pytest_dlbench.data.mnist_arrays import read  # noqa: PLC0415

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
