"""Preparing a data set once for all frameworks: hashed .npy files in the user's cache, written atomically."""

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import filelock
import msgspec
import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.cache import HASHES, prepared_root
from pytest_dlbench.data.dataset import PARTS, Arrays, Dataset, Prepared, Rows
from pytest_dlbench.data.source import Source
from pytest_dlbench.errors import DataError, DataMissingError, FileFormatError
from pytest_dlbench.records import codec

# Size and modification time of files that are too large to be hashed in every session.
STAMPS = "stamps.json"
LARGE_BYTES = 2**30


@lru_cache(maxsize=64)
def prepare(dataset: Dataset, root: Path | None = None) -> Prepared:
    """The data set on disk, created now if it is missing or its files have changed.

    Safe for several processes at once: one creates it, the others wait for its lock. Raises DataMissingError if the
    source's files are not available, and DataError if they are not as expected.
    """
    root = root or prepared_root()
    folder = root / dataset.folder_name
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root, dataset):
        if not _is_whole(folder):
            _make(dataset, folder)
    return Prepared(dataset=dataset, folder=folder, digest=_digest(_read_hashes(folder)))


def forget(source: Source) -> None:
    """Delete what was prepared from earlier files of a source; where it is mapped, it stays until it is closed."""
    # Late: it names the data sets of all families.
    from pytest_dlbench.data import DATASETS

    root = prepared_root()
    root.mkdir(parents=True, exist_ok=True)
    for dataset in DATASETS.values():
        if dataset.source and dataset.source.name == source.name:
            # A process that is preparing it may have read the earlier files.
            with _locked(root, dataset):
                shutil.rmtree(root / dataset.folder_name, ignore_errors=True)
    prepare.cache_clear()


def _locked(root: Path, dataset: Dataset) -> filelock.BaseFileLock:
    return filelock.FileLock(root / f"{dataset.folder_name}.lock")


def _is_whole(folder: Path) -> bool:
    try:
        recorded = _read_hashes(folder)
        return recorded == _hash_files(folder, recorded)
    except (OSError, FileFormatError):
        return False


def _read_hashes(folder: Path) -> dict[str, str]:
    return codec.decode((folder / HASHES).read_bytes(), dict[str, str], str(folder / HASHES))


def _hash_files(folder: Path, recorded: Mapping[str, str]) -> dict[str, str]:
    """The hash of each part by its name, and of each extra file by its path in the folder.

    The ``recorded`` hash of a large file is trusted as long as its stamp is unchanged: hashing all of a prepared
    ImageNet takes a quarter of an hour.
    """
    hashes = {}
    stamps = _stamps(folder)
    for path in _files(folder):
        name = path.stem if path.stem in PARTS else path.relative_to(folder).as_posix()
        if name in recorded and stamps.get(path.name) == _stamp(path):
            hashes[name] = recorded[name]
        else:
            with path.open("rb") as file:
                hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name not in (HASHES, STAMPS) and path.is_file()]


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _stamps(folder: Path) -> dict[str, str]:
    path = folder / STAMPS
    return codec.decode(path.read_bytes(), dict[str, str], str(path)) if path.exists() else {}


def _digest(hashes: dict[str, str]) -> str:
    return hashlib.sha256(msgspec.json.encode(hashes, order="sorted")).hexdigest()[:16]


def _make(dataset: Dataset, folder: Path) -> None:
    try:
        _write(dataset, folder)
    except DataMissingError:
        raise
    except DataError as error:
        # The files arrived complete, so the wrong ones were fetched or imported.
        way = f"\n  to get {dataset.source.name} again: {dataset.source.replace_command}" if dataset.source else ""
        raise DataError(f"{error}{way}") from error


def _write(dataset: Dataset, folder: Path) -> None:
    # Next to its final place, so that the rename stays on one file system.
    unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        # A temporary folder is private to its owner; prepared data are for everyone who may read the cache.
        unfinished.chmod(0o755)
        arrays = dataset.make()
        _check(dataset, arrays)
        for part in PARTS:
            _save(unfinished / f"{part}.npy", getattr(arrays, part))
        for name, content in arrays.extras.items():
            (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / name).write_bytes(content)
        (unfinished / HASHES).write_bytes(msgspec.json.encode(_hash_files(unfinished, {}), order="sorted"))
        if large := {path.name: _stamp(path) for path in _files(unfinished) if path.stat().st_size >= LARGE_BYTES}:
            (unfinished / STAMPS).write_bytes(msgspec.json.encode(large, order="sorted"))
        if folder.exists():
            shutil.rmtree(folder)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _save(path: Path, part: NDArray[Any] | Rows) -> None:
    if not isinstance(part, Rows):
        np.save(path, part, allow_pickle=False)
        return
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=part.shape)
    done = 0
    for piece in part.pieces():
        if done + len(piece) <= len(part):
            file[done : done + len(piece)] = piece
        done += len(piece)
    if done != len(part):
        raise DataError(f"{path.stem} should have {len(part)} rows, but has {done}")
    file.flush()


def _check(dataset: Dataset, arrays: Arrays) -> None:
    """Check that the arrays match the declaration, to which models were fitted."""
    counts = (dataset.train_examples, dataset.test_examples)
    label_shape = (dataset.classes,) if dataset.task == "flags" else dataset.label_shape
    declared = [(count, *shape) for shape in (dataset.shape, label_shape) for count in counts]
    made = [getattr(arrays, part).shape for part in ("train_inputs", "test_inputs", "train_labels", "test_labels")]
    if made != declared:
        raise DataError(
            f"data set {dataset.name!r}: declared as {declared} (inputs of both splits, then labels), created as {made}"
        )
    for split in ("train", "test"):
        _check_labels(dataset, getattr(arrays, f"{split}_labels"))
        if dataset.vocabulary:
            _check_range(f"data set {dataset.name!r}: tokens", getattr(arrays, f"{split}_inputs"), dataset.vocabulary)


def _check_labels(dataset: Dataset, labels: NDArray[Any]) -> None:
    what = f"data set {dataset.name!r}: labels"
    if dataset.task == "boxes":
        # Class 0 stands for no object.
        _check_range(what, labels[..., 4], dataset.classes + 1)
    else:
        _check_range(what, labels, 2 if dataset.task == "flags" else dataset.classes)


def _check_range(what: str, values: NDArray[Any], top: int) -> None:
    if values.min() < 0 or values.max() >= top:
        raise DataError(f"{what} from {values.min()} to {values.max()}, not 0 to {top - 1}")
