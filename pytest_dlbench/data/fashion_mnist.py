"""Fashion-MNIST: 70,000 photographs of clothes, 28×28 in grey, in the same IDX files as MNIST.

Source: H. Xiao, K. Rasul, R. Vollgraf, Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning
Algorithms, arXiv:1708.07747 (2017), MIT license. Debian has the files in a package, so that no other host is needed.
"""

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.mnist import read
from pytest_dlbench.data.source import File, Package, Source

_SITE = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_CHECKSUMS = {
    "train-images-idx3-ubyte": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte": "md5:25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte": "md5:bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte": "md5:bb300cfdad3c16e7a12a480ee83cd310",
}

SOURCE = Source(
    name="fashion-mnist",
    about="70,000 photographs of clothes, 30 MiB compressed",
    page="https://github.com/zalandoresearch/fashion-mnist",
    contents=tuple(_CHECKSUMS),
    files=tuple(
        File(name=f"{name}.gz", url=f"{_SITE}{name}.gz", checksum=checksum) for name, checksum in _CHECKSUMS.items()
    ),
    package=Package(
        name="dataset-fashion-mnist",
        folder="/usr/share/datasets/fashion-mnist",
        # Of version 0.0~git20200523.55506a9-1.
        checksums=(
            ("train-images-idx3-ubyte.gz", "md5:cf8536b0aa1a6ac5fa3f23001093305c"),
            ("train-labels-idx1-ubyte.gz", "md5:10bea18fdb374794d4bb42e356e600c9"),
            ("t10k-images-idx3-ubyte.gz", "md5:f78720b4224f21cce2f2ccf2d7a94c9a"),
            ("t10k-labels-idx1-ubyte.gz", "md5:0d30e22e447f3c33dab9ed536400ac01"),
        ),
    ),
)


def _make() -> Arrays:
    return read(folder_of(SOURCE))


DATASETS = (
    Dataset(
        name="fashion-mnist",
        version=1,
        shape=(1, 28, 28),
        classes=10,
        train_examples=60_000,
        test_examples=10_000,
        make=_make,
        source=SOURCE,
    ),
)
