"""ChestX-ray14: 112,120 X-rays of 30,805 patients, each with any of 14 findings.

Source: X. Wang et al., ChestX-ray8 (2017), NIH Clinical Center. The files come in a dozen archives that must be
downloaded by hand and imported: ``images/*.png``, the table of findings, and the official lists of both splits, which
share no patient. (The rosetta repository splits patients itself, and crops at random from 264×264.) Images are resized
to 224×224 and repeated in three channels, as networks for photographs expect: 52 GB and 15 GB when prepared.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import Source
from pytest_dlbench.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIDE = 224
# In the order of the flags.
FINDINGS = (
    "Atelectasis",
    "Cardiomegaly",
    "Consolidation",
    "Edema",
    "Effusion",
    "Emphysema",
    "Fibrosis",
    "Hernia",
    "Infiltration",
    "Mass",
    "Nodule",
    "Pleural_Thickening",
    "Pneumonia",
    "Pneumothorax",
)

SOURCE = Source(
    name="chestxray14",
    about="112,120 X-rays with 14 findings, 42 GB",
    page="https://nihcc.app.box.com/v/ChestXray-NIHCC",
    contents=("images/*.png", "Data_Entry_2017*.csv", "train_val_list.txt", "test_list.txt"),
)

NO_FINDING = "No Finding"


def read(folder: Path, *, side: int) -> Arrays:
    """Both splits, in the order of their lists.

    Raises DataError for an unknown finding, an image without one, and a patient whose images are in both splits.
    """
    from pytest_dlbench.data.photographs import decoded, whole

    (table, *_) = sorted(folder.glob("Data_Entry_2017*.csv"))
    findings = read_findings(table)
    train, test = ((folder / name).read_text("utf-8").split() for name in ("train_val_list.txt", "test_list.txt"))
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


def _flags(names: Sequence[str], findings: Mapping[str, frozenset[str]], table: Path) -> "NDArray[np.float32]":
    import numpy as np

    if unknown := [name for name in names if name not in findings]:
        raise DataError(f"{table} lacks {len(unknown)} images, starting with {unknown[0]}")
    flags = [[finding in findings[name] for finding in FINDINGS] for name in names]
    return np.array(flags, dtype=np.float32).reshape(len(names), len(FINDINGS))


def _make() -> Arrays:
    return read(folder_of(SOURCE), side=SIDE)


DATASETS = (
    Dataset(
        name="chestxray14",
        version=1,
        shape=(3, SIDE, SIDE),
        classes=len(FINDINGS),
        train_examples=86_524,
        test_examples=25_596,
        make=_make,
        task="flags",
        source=SOURCE,
    ),
)
