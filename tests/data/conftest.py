"""A small data set that counts how often it is created; caches, servers and files for each test."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_dlbench.data import Arrays, Dataset
from pytest_dlbench.data.dataset import PARTS
from pytest_dlbench.data.importing import take
from pytest_dlbench.data.preparation import prepare
from tests.doubles.file_server import serving
from tests.doubles.official_files import write

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
    """Where the data are prepared; this process has cached nothing of it."""
    prepare.cache_clear()
    yield tmp_path / "cache"
    prepare.cache_clear()


@pytest.fixture
def users_cache(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users-cache"))
    prepare.cache_clear()
    yield tmp_path / "users-cache" / "pytest-dlbench" / "data"
    prepare.cache_clear()


@pytest.fixture
def server():
    with serving() as running:
        yield running


@pytest.fixture
def prepared_of(users_cache, tmp_path):
    """Prepare a data set from small official files, and return what would be mapped, part by part."""

    def prepared(dataset, files, *, examples):
        have = write(tmp_path / "have", files)
        # Small files do not have the checksums of the official ones.
        take(dataset.source, have, unofficial=True)
        smaller = replace(dataset, train_examples=examples[0], test_examples=examples[1])
        made = prepare(smaller)
        return SimpleNamespace(**{part: np.load(made.part(part)) for part in PARTS}, folder=made.folder)

    return prepared
