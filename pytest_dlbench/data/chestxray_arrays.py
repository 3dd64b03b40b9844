"""The arrays of ChestX-ray14: a table of findings, a list of names for each split, and a PNG file a name."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.chestxray import FINDINGS
from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.data.photographs import decoded, whole
from pytest_dlbench.errors import DataError

NO_FINDING = "No Finding"


def read(folder: Path, *, side: int) -> Arrays:
    """Both splits, in the order of their lists.

    Raises DataError for an unknown finding, an image without one, and a patient whose images are in both splits.
    """
    (table, *_) = sorted(folder.glob("Data_Entry_2017*.csv"))
    findings = read_findings(table)
    train, test = ((folder / name).read_text().split() for name in ("train_val_list.txt", "test_list.txt"))
    # The name of an image begins with its patient: 00000001_000.png.
    if both := {name.partition("_")[0] for name in train} & {name.partition("_")[0] for name in test}:
        raise DataError(f"{folder}: patients whose images are in both splits: {', '.join(sorted(both)[:5])}")
    return Arrays(
        train_inputs=decoded([folder / "images" / name for name in train], side, whole),
        train_labels=_flags(train, findings, table),
        test_inputs=decoded([folder / "images" / name for name in test], side, whole),
        test_labels=_flags(test, findings, table),
    )


def read_findings(table: Path) -> dict[str, frozenset[str]]:
    """The findings of each image by its name; none for "No Finding"."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if not {"Image Index", "Finding Labels"} <= set(rows.fieldnames or ()):
            raise DataError(f"{table} has no columns 'Image Index' and 'Finding Labels', but {rows.fieldnames}")
        found = {row["Image Index"]: frozenset((row["Finding Labels"] or "").split("|")) for row in rows}
    known = {*FINDINGS, NO_FINDING}
    for name, findings in found.items():
        if unknown := findings - known:
            raise DataError(f"{table}: {name} has the finding {min(unknown)!r}, known are {', '.join(sorted(known))}")
    return found


def _flags(names: Sequence[str], findings: Mapping[str, frozenset[str]], table: Path) -> NDArray[np.float32]:
    if unknown := [name for name in names if name not in findings]:
        raise DataError(f"{table} says nothing of {len(unknown)} images, {unknown[0]} the first of them")
    flags = [[finding in findings[name] for finding in FINDINGS] for name in names]
    return np.array(flags, dtype=np.float32).reshape(len(names), len(FINDINGS))
