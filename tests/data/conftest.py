"""A small data set that counts how often it was made."""

from pathlib import Path

import numpy as np
import pytest

from pytest_dlbench.data import Arrays, Dataset
from pytest_dlbench.data.preparation import prepare

SHAPE = (1, 4, 4)


class Counted:
    """Makes small arrays, and writes a line into a file each time."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def dataset(self, *, name="counted", version=1, brightness=0.5, label=1) -> Dataset:
        def make() -> Arrays:
            with self._log.open("a") as file:
                file.write("made\n")
            return self.arrays(brightness=brightness, label=label)

        return Dataset(name=name, version=version, shape=SHAPE, classes=2, train_examples=8, test_examples=4, make=make)

    @property
    def times(self) -> int:
        return len(self._log.read_text().splitlines())

    @staticmethod
    def arrays(*, brightness=0.5, label=1) -> Arrays:
        return Arrays(
            train_inputs=np.full((8, *SHAPE), brightness, dtype=np.float32),
            train_labels=np.full(8, label, dtype=np.int64),
            test_inputs=np.full((4, *SHAPE), brightness, dtype=np.float32),
            test_labels=np.full(4, label, dtype=np.int64),
        )


@pytest.fixture
def counted(tmp_path):
    return Counted(tmp_path / "made.txt")


@pytest.fixture
def root(tmp_path):
    """Where the data are prepared; this process remembers nothing of what lies there."""
    prepare.cache_clear()
    yield tmp_path / "cache"
    prepare.cache_clear()
