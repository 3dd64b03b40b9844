"""Images of any data set as a folder of JPEG files: what a loader reads and decodes while a framework trains.

Training images are written once, as ``train/CLASS/NUMBER.jpeg``, with Pillow's defaults except for the quality: colours
have half the resolution (4:2:0), as in photographs. Both splits have the pixels that the files decode to.
"""

from dataclasses import replace
from functools import lru_cache, partial
from io import BytesIO
from math import prod
from typing import TYPE_CHECKING

from pytest_dlbench.data.dataset import Arrays, Dataset, Rows
from pytest_dlbench.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUALITY = 90
# The encoder holds all pixels and all files in memory.
MOST_BYTES = 2 * 2**30
GREY, COLOURS = 1, 3


def not_jpeg(dataset: Dataset) -> str:
    """Why a data set cannot be a folder of JPEG files; empty if it can."""
    if dataset.task != "class" or len(dataset.shape) != 3 or dataset.shape[0] not in (GREY, COLOURS):
        return f"a folder of JPEG files has images of one class each, in grey or colours, which {dataset.name} has not"
    size = 4 * prod(dataset.shape) * (dataset.train_examples + dataset.test_examples)
    if size <= MOST_BYTES:
        return ""
    return f"{dataset.name} has {size / 2**30:.1f} GiB of pixels, and more than {MOST_BYTES // 2**30} are not encoded"


@lru_cache(maxsize=64)
def as_jpeg(dataset: Dataset) -> Dataset:
    """The same images as JPEG files, and the pixels that these decode to; raises DataError for other data."""
    if reason := not_jpeg(dataset):
        raise DataError(reason)
    return replace(dataset, name=f"{dataset.name}-jpeg", make=partial(_make, dataset))


def path_of(label: int, number: int) -> str:
    """The file of a training image, in the folder of a prepared data set; the worker's ``images`` has the same."""
    return f"train/{label}/{number:06d}.jpeg"


def _make(dataset: Dataset) -> Arrays:
    whole = dataset.make()
    files = {"train": _encoded(whole.train_inputs), "test": _encoded(whole.test_inputs)}
    named = zip(whole.train_labels, files["train"], strict=True)
    return Arrays(
        train_inputs=_decoded(files["train"]),
        train_labels=whole.train_labels,
        test_inputs=_decoded(files["test"]),
        test_labels=whole.test_labels,
        extras={path_of(int(label), number): content for number, (label, content) in enumerate(named)},
    )


def _encoded(images: "NDArray[np.float32 | np.int32] | Rows") -> list[bytes]:
    """Images N×C×H×W in [0, 1] as JPEG files."""
    pieces = images.pieces() if isinstance(images, Rows) else [images]
    return [_file(image) for piece in pieces for image in piece]


def _file(image: "NDArray[np.float32 | np.int32]") -> bytes:
    import numpy as np
    from PIL import Image

    levels = np.clip(np.rint(image * 255), 0, 255).astype(np.uint8)
    made = Image.fromarray(levels[0] if len(levels) == GREY else levels.transpose(1, 2, 0))
    content = BytesIO()
    made.save(content, "JPEG", quality=QUALITY)
    return content.getvalue()


def _decoded(files: list[bytes]) -> "NDArray[np.float32]":
    import numpy as np
    from PIL import Image

    levels = np.stack([np.atleast_3d(np.asarray(Image.open(BytesIO(file)))) for file in files])
    return np.ascontiguousarray(levels.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)
