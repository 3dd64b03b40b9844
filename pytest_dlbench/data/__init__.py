"""Data sets: one file for each family, prepared once as .npy for all frameworks.

NumPy is imported only by the functions that create arrays (called by ``preparation``), so that a session that only
collects does not load it.
"""

from pytest_dlbench.data import (
    chestxray,
    cifar,
    digits,
    fashion_mnist,
    imagenet,
    imdb,
    manythings,
    mnist,
    ptb,
    pydoc,
    shapes,
    svhn,
    voc,
)
from pytest_dlbench.data.dataset import Arrays, Dataset, Prepared, Rows
from pytest_dlbench.data.source import File, Package, Source
from pytest_dlbench.data.synthetic import ANY_SHAPE, SyntheticData, synthetic

FAMILIES = (digits, pydoc, mnist, fashion_mnist, cifar, svhn, imdb, ptb, manythings, imagenet, chestxray, shapes, voc)

DATASETS: dict[str, Dataset] = {dataset.name: dataset for family in FAMILIES for dataset in family.DATASETS}

SOURCES: dict[str, Source] = {dataset.source.name: dataset.source for dataset in DATASETS.values() if dataset.source}

__all__ = [
    "ANY_SHAPE",
    "DATASETS",
    "SOURCES",
    "Arrays",
    "Dataset",
    "File",
    "Package",
    "Prepared",
    "Rows",
    "Source",
    "SyntheticData",
    "synthetic",
]
