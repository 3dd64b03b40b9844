"""Fashion-MNIST: from Debian's package, whose archives have checksums of their own, or as the official files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS, SOURCES
from pytest_dlbench.data.cache import folder_of, is_available
from pytest_dlbench.data.fetching import fetch
from pytest_dlbench.data.importing import take
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.errors import DataError, DataMissingError
from tests.doubles import official_files as official

pytestmark = pytest.mark.usefixtures("users_cache")
DATASET, SOURCE = DATASETS["fashion-mnist"], SOURCES["fashion-mnist"]
FILES = official.packed(official.mnist())


@pytest.fixture
def packaged(tmp_path):
    """The source, if these small files were those of an installed package, and none an official one."""
    folder = official.write(tmp_path / "package", FILES)
    checksums = tuple((file.name, file.checksum) for file in official.source_of(SOURCE, FILES).files)
    return replace(SOURCE, package=replace(SOURCE.package, folder=str(folder), checksums=checksums))


def test_an_installed_package_is_fetched_without_a_network(packaged):
    manifest = fetch(packaged)
    assert {path.name: path.read_bytes() for path in folder_of(SOURCE).iterdir()} == official.mnist()
    assert all(line.endswith("as in the package dataset-fashion-mnist") for line in manifest.known_by)


def test_a_file_of_the_package_may_be_imported(packaged):
    take(packaged, Path(packaged.package.folder))
    assert is_available(SOURCE)


def test_a_damaged_file_of_the_package_is_refused(packaged):
    (Path(packaged.package.folder) / "t10k-labels-idx1-ubyte.gz").write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"is not the official t10k-labels-idx1-ubyte\.gz"):
        fetch(packaged)
    assert not is_available(SOURCE)


def test_without_the_package_the_official_files_are_downloaded(server, tmp_path):
    server.files |= FILES
    source = official.source_of(SOURCE, FILES, server.url(""))
    manifest = fetch(replace(source, package=replace(SOURCE.package, folder=str(tmp_path / "none"))))
    assert all(line.endswith("as published") for line in manifest.known_by)


def test_who_lacks_the_files_learns_of_the_package():
    with pytest.raises(DataMissingError, match="apt install dataset-fashion-mnist"):
        folder_of(SOURCE)


def test_the_package_has_the_published_images():
    if not SOURCE.package.is_installed:
        pytest.skip("Debian's package dataset-fashion-mnist is not installed")
    fetch(SOURCE)
    made = prepare(DATASET)
    labels = np.load(made.part("train_labels"), mmap_mode="r"), np.load(made.part("test_labels"), mmap_mode="r")
    assert [np.bincount(part).tolist() for part in labels] == [[6_000] * 10, [1_000] * 10]
    # The mean and the deviation with which others normalise the training images.
    images = np.load(made.part("train_inputs"), mmap_mode="r")
    assert images.shape == (60_000, 1, 28, 28)
    assert (round(float(images.mean()), 4), round(float(images.std()), 4)) == (0.2860, 0.3530)
