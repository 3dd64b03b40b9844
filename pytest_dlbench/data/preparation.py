"""Preparing a data set once for all frameworks: .npy files in the user's cache, hashed, written whole or not at all."""

import hashlib
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

import filelock
import msgspec
import numpy as np
import platformdirs

from pytest_dlbench.data.dataset import PARTS, Arrays, Dataset, Prepared
from pytest_dlbench.errors import DataError

MANIFEST = "hashes.json"


def cache_folder() -> Path:
    """Where prepared data lie: the user's cache (XDG_CACHE_HOME moves it)."""
    return platformdirs.user_cache_path("pytest-dlbench") / "data"


@lru_cache(maxsize=64)
def prepare(dataset: Dataset, root: Path | None = None) -> Prepared:
    """The data set on disk, made now if it is not there or its files are not what was written.

    Safe for several processes at once: one makes it, the others wait for its lock.
    """
    root = root or cache_folder()
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
    declared = ((dataset.train_examples, *dataset.shape), (dataset.test_examples, *dataset.shape))
    made = (arrays.train_images.shape, arrays.test_images.shape)
    if made != declared:
        raise DataError(f"data set {dataset.name!r}: declared as {declared} (train, test), made as {made}")
    labels = np.concatenate([arrays.train_labels, arrays.test_labels])
    if labels.min() < 0 or labels.max() >= dataset.classes:
        raise DataError(
            f"data set {dataset.name!r}: labels from {labels.min()} to {labels.max()}, not {dataset.classes}"
        )
