"""The arrays of ImageNet: a folder for each kind, decoded while they are written."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import Arrays, Rows
from pytest_dlbench.data.photographs import centre, decoded
from pytest_dlbench.errors import DataError


def read(folder: Path, *, side: int, of_each: tuple[int | None, int | None]) -> Arrays:
    """Both splits, of each kind the first so many by name, or all (None).

    Raises DataError for a kind that only one of the splits has, and for a file that is no image.
    """
    kinds = {
        split: sorted(path.name for path in (folder / split).iterdir() if path.is_dir()) for split in ("train", "val")
    }
    if kinds["train"] != kinds["val"]:
        odd = sorted(set(kinds["train"]) ^ set(kinds["val"]))
        raise DataError(
            f"{folder}: train and val have other kinds: {', '.join(odd[:5])}; see dlbench data verify imagenet"
        )
    train_inputs, train_labels = _split(folder / "train", kinds["train"], side, of_each[0])
    test_inputs, test_labels = _split(folder / "val", kinds["val"], side, of_each[1])
    return Arrays(
        train_inputs=train_inputs, train_labels=train_labels, test_inputs=test_inputs, test_labels=test_labels
    )


def _split(folder: Path, kinds: list[str], side: int, most: int | None) -> tuple[Rows, NDArray[np.int64]]:
    of_kinds = [sorted((folder / kind).glob("*.JPEG"))[:most] for kind in kinds]
    labels = np.repeat(np.arange(len(kinds), dtype=np.int64), [len(paths) for paths in of_kinds])
    return decoded([path for paths in of_kinds for path in paths], side, centre), labels
