"""Objects in images as one float32 array for models, with the same number of rows for every image."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.errors import DataError

COLUMNS = 6
"""Left, top, right, bottom, the class counted from 1, and 1 for a difficult object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """One object. Its edges are pixels of the prepared image, counted from 0 at the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float
    kind: int
    is_difficult: bool = False

    @property
    def row(self) -> tuple[float, ...]:
        """The numbers of COLUMNS."""
        return (self.left, self.top, self.right, self.bottom, self.kind, self.is_difficult)


def padded(images: Sequence[Sequence[Object]], most: int) -> NDArray[np.float32]:
    """One row per object, N×most×6, with rows of zeros after an image's last; raises DataError for more than most."""
    rows = np.zeros((len(images), most, COLUMNS), dtype=np.float32)
    for number, objects in enumerate(images):
        if len(objects) > most:
            raise DataError(f"image {number} has {len(objects)} objects, a label has room for {most}")
        for place, thing in enumerate(objects):
            rows[number, place] = thing.row
    return rows
