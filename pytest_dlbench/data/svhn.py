"""Street View House Numbers, cropped digits, 32×32: the training split, or the "extra" split in its place.

Source: Y. Netzer et al., Reading Digits in Natural Images with Unsupervised Feature Learning (2011). tartu's paper
speaks of the 73,257 training images (``svhn-train``), its repository trains on the 531,131 extra ones
(``svhn-extra``); both test on the same 26,032. In the files the label 10 means the digit 0.
"""

from functools import partial

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source

_HOST = "http://ufldl.stanford.edu/housenumbers/"
_CHECKSUMS = {
    "train_32x32.mat": "md5:e26dedcc434d2e4c54c9b2d4a06d8373",
    "test_32x32.mat": "md5:eb5a983be6a315427106f1b164d9cef3",
    "extra_32x32.mat": "md5:a93ce644f1a588dc4d68dda5feec44a7",
}


def _make(source: Source, train: str) -> Arrays:
    # Late: SciPy is slow to load, and needed once for each cache.
    from pytest_dlbench.data.svhn_arrays import read  # noqa: PLC0415

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
