"""What lies in the user's cache: official files of sources, and arrays that were prepared from them."""

from pathlib import Path

import platformdirs

from pytest_dlbench.data.dataset import Dataset
from pytest_dlbench.data.source import Source
from pytest_dlbench.errors import DataMissingError

# Of the prepared arrays of one data set.
HASHES = "hashes.json"


def cache_folder() -> Path:
    """Where data lie: the user's cache (XDG_CACHE_HOME moves it)."""
    return platformdirs.user_cache_path("pytest-dlbench") / "data"


def prepared_root() -> Path:
    """Where prepared data sets lie, a folder each."""
    return cache_folder() / "prepared"


def files_root() -> Path:
    """Where official files lie, a folder a source."""
    return cache_folder() / "files"


def manifest_path(source: Source) -> Path:
    """What lies in the folder of a source; written last, so that a folder without it is not whole."""
    return files_root() / f"{source.name}.json"


def is_here(source: Source) -> bool:
    """Whether its files were fetched or imported, and are still there; ``verify`` tells whether they are sound."""
    return manifest_path(source).is_file() and (files_root() / source.name).is_dir()


def folder_of(source: Source) -> Path:
    """Where its files lie, unpacked; raises DataMissingError with what brings them."""
    if not is_here(source):
        raise DataMissingError(source.advice)
    return files_root() / source.name


def is_prepared(dataset: Dataset) -> bool:
    """Whether its arrays were made; its files are no longer needed then."""
    return (prepared_root() / dataset.folder_name / HASHES).is_file()


def missing(dataset: Dataset) -> str:
    """Why a data set cannot be trained on here, in a line; empty where it can."""
    source = dataset.source
    if source is None or is_here(source) or is_prepared(dataset):
        return ""
    return f"{dataset.name} is not here: {source.way_here}"
