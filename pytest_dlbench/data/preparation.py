"""Preparing a data set once for all frameworks: .npy files in the user's cache, hashed, written whole or not at all."""

import hashlib
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import filelock
import msgspec
import numpy as np
import platformdirs
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import PARTS, Arrays, Dataset, Prepared
from pytest_dlbench.errors import DataError

MANIFEST = "hashes.json"


def cache_folder() -> Path:
    """Where data lie: the user's cache (XDG_CACHE_HOME moves it)."""
    return platformdirs.user_cache_path("pytest-dlbench") / "data"


@lru_cache(maxsize=64)
def prepare(dataset: Dataset, root: Path | None = None) -> Prepared:
    """The data set on disk, made now if it is not there or its files are not what was written.

    Safe for several processes at once: one makes it, the others wait for its lock.
    """
    root = root or cache_folder() / "prepared"
    folder = root / dataset.folder_name
    root.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(root / f"{dataset.folder_name}.lock"):
        if not _is_whole(folder):
            _write(dataset, folder)
    return Prepared(dataset=dataset, folder=folder, digest=_digest(_read_hashes(folder)))


def _is_whole(folder: Path) -> bool:
    try:
        return _read_hashes(folder) == _hash_parts(folder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False


def _read_hashes(folder: Path) -> dict[str, str]:
    return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=dict[str, str])


def _hash_parts(folder: Path) -> dict[str, str]:
    hashes = {}
    for part in PARTS:
        with (folder / f"{part}.npy").open("rb") as file:
            hashes[part] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def _digest(hashes: dict[str, str]) -> str:
    return hashlib.sha256(msgspec.json.encode(hashes, order="sorted")).hexdigest()[:16]


def _write(dataset: Dataset, folder: Path) -> None:
    # Beside its final place, so that the rename stays on one file system.
    unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        # A temporary folder is its maker's alone; what is prepared is for all who may read the cache.
        unfinished.chmod(0o755)
        arrays = dataset.make()
        _check(dataset, arrays)
        for part in PARTS:
            np.save(unfinished / f"{part}.npy", getattr(arrays, part), allow_pickle=False)
        (unfinished / MANIFEST).write_bytes(msgspec.json.encode(_hash_parts(unfinished), order="sorted"))
        if folder.exists():
            shutil.rmtree(folder)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _check(dataset: Dataset, arrays: Arrays) -> None:
    """What was made is what was declared, for models were fitted to the declaration."""
    counts = (dataset.train_examples, dataset.test_examples)
    label_shape = (dataset.classes,) if dataset.task == "flags" else dataset.label_shape
    declared = [(count, *shape) for shape in (dataset.shape, label_shape) for count in counts]
    made = [getattr(arrays, part).shape for part in ("train_inputs", "test_inputs", "train_labels", "test_labels")]
    if made != declared:
        raise DataError(
            f"data set {dataset.name!r}: declared as {declared} (inputs of both splits, then labels), made as {made}"
        )
    for split in ("train", "test"):
        top = 2 if dataset.task == "flags" else dataset.classes
        _check_range(f"data set {dataset.name!r}: labels", getattr(arrays, f"{split}_labels"), top)
        if dataset.vocabulary:
            _check_range(f"data set {dataset.name!r}: tokens", getattr(arrays, f"{split}_inputs"), dataset.vocabulary)


def _check_range(what: str, values: NDArray[Any], top: int) -> None:
    if values.min() < 0 or values.max() >= top:
        raise DataError(f"{what} from {values.min()} to {values.max()}, not 0 to {top - 1}")
