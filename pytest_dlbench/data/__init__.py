"""Data sets: one file for each family, prepared once as .npy for all frameworks.

Declarations only: NumPy is loaded when a data set is made (``preparation``), not when it is named.
"""

from pytest_dlbench.data import digits
from pytest_dlbench.data.dataset import Arrays, Dataset, Prepared
from pytest_dlbench.data.synthetic import ANY_SHAPE, SyntheticData, synthetic

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in digits.DATASETS}

__all__ = [
    "ANY_SHAPE",
    "DATASETS",
    "Arrays",
    "Dataset",
    "Prepared",
    "SyntheticData",
    "synthetic",
]
