"""The user's cache: official files of sources, and the arrays prepared from them."""

from pathlib import Path

import platformdirs

from pytest_dlbench.data.dataset import Dataset
from pytest_dlbench.data.source import Source
from pytest_dlbench.errors import DataMissingError

# Describes the prepared arrays of one data set.
HASHES = "hashes.json"


def cache_folder() -> Path:
    """The folder for data in the user's cache, which XDG_CACHE_HOME relocates."""
    return platformdirs.user_cache_path("pytest-dlbench") / "data"


def prepared_root() -> Path:
    """The folder of prepared data sets, one subfolder each."""
    return cache_folder() / "prepared"


def files_root() -> Path:
    """The folder of official files, one subfolder per source."""
    return cache_folder() / "files"


def manifest_path(source: Source) -> Path:
    """The list of files in a source's folder; written last, so that a folder without it is incomplete."""
    return files_root() / f"{source.name}.json"


def is_available(source: Source) -> bool:
    """Whether the source's files were fetched or imported, and still exist; ``verify`` checks their content."""
    return manifest_path(source).is_file() and (files_root() / source.name).is_dir()


def folder_of(source: Source) -> Path:
    """The folder of the source's unpacked files; raises DataMissingError with the command that gets them."""
    if not is_available(source):
        raise DataMissingError(source.advice)
    return files_root() / source.name


def is_prepared(dataset: Dataset) -> bool:
    """Whether the data set's arrays were created; then its files are no longer needed."""
    return (prepared_root() / dataset.folder_name / HASHES).is_file()


def missing(dataset: Dataset) -> str:
    """Why a data set cannot be used, in one line; empty if it can."""
    source = dataset.source
    if source is None or is_available(source) or is_prepared(dataset):
        return ""
    return f"{dataset.name} is not available: {source.get_command}"
