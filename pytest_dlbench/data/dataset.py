"""What a data set is, before and after it is prepared."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dlbench.errors import DataError
from pytest_dlbench.model import Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PARTS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """A data set in memory: images N×C×H×W as float32 in [0, 1] (or N×features), labels as int64."""

    train_images: "NDArray[np.float32]"
    train_labels: "NDArray[np.int64]"
    test_images: "NDArray[np.float32]"
    test_labels: "NDArray[np.int64]"

    def __post_init__(self) -> None:
        for split in ("train", "test"):
            images, labels = getattr(self, f"{split}_images"), getattr(self, f"{split}_labels")
            if len(images) != len(labels) or not len(labels):
                raise DataError(f"the {split} split has {len(images)} images and {len(labels)} labels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A data set that can be prepared. ``version`` changes when ``make`` would give other arrays."""

    name: str
    version: int
    shape: Shape
    classes: int
    train_examples: int
    test_examples: int
    make: Callable[[], Arrays]
    marks: tuple[str, ...] = ()

    @property
    def folder_name(self) -> str:
        """Where the prepared arrays lie in the cache."""
        return f"{self.name}-v{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A data set on disk as .npy files, ready to be memory-mapped; ``digest`` hashes their content."""

    dataset: Dataset
    folder: Path
    digest: str

    def part(self, name: str) -> Path:
        """The file of one of PARTS."""
        return self.folder / f"{name}.npy"
