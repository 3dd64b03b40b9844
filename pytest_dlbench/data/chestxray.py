"""ChestX-ray14: 112,120 X-rays of 30,805 patients, each with any of 14 findings.

Source: X. Wang et al., ChestX-ray8 (2017), NIH Clinical Center. The files come in a dozen archives behind a page, so
that they can only be imported: ``images/*.png``, the table of findings, and the official lists of both splits, which
share no patient. (The rosetta repository splits patients itself, and crops at random from 264×264.) Images are resized
to 224×224 and repeated in three channels, as networks for photographs want them: 52 GB and 15 GB when prepared.
"""

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import Source

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


def _make() -> Arrays:
    # Late: NumPy and Pillow are slow to load, and needed once for each cache.
    from pytest_dlbench.data.chestxray_arrays import read  # noqa: PLC0415

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
