"""Image files as float32 arrays for models, one at a time, because whole collections do not fit in memory."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from pytest_dlbench.data.dataset import Rows
from pytest_dlbench.errors import DataError

PIECE_IMAGES = 32
_BILINEAR = Image.Resampling.BILINEAR
Fit = Callable[[Image.Image, int], Image.Image]


def decoded(paths: Sequence[Path], side: int, fit: Fit) -> Rows:
    """Images N×3×side×side in [0, 1], decoded while they are written; raises DataError for other files."""

    def pieces() -> Iterator[NDArray[np.float32]]:
        for first in range(0, len(paths), PIECE_IMAGES):
            yield np.stack([_pixels(path, side, fit) for path in paths[first : first + PIECE_IMAGES]])

    return Rows(shape=(len(paths), 3, side, side), pieces=pieces)


def centre(image: Image.Image, side: int) -> Image.Image:
    """The shorter side resized to 8/7 of ``side`` (256 for 224), then a central crop."""
    scale = side * 8 / 7 / min(image.size)
    width, height = (max(side, round(size * scale)) for size in image.size)
    left, top = (width - side) // 2, (height - side) // 2
    return image.resize((width, height), _BILINEAR).crop((left, top, left + side, top + side))


def whole(image: Image.Image, side: int) -> Image.Image:
    """The whole image, resized to a square."""
    return image.resize((side, side), _BILINEAR)


def framed(image: Image.Image, side: int) -> Image.Image:
    """The longer side resized to ``side``, at the upper left of a black square."""
    scale = side / max(image.size)
    square = Image.new("RGB", (side, side))
    square.paste(image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))), _BILINEAR))
    return square


def _pixels(path: Path, side: int, fit: Fit) -> NDArray[np.float32]:
    try:
        with Image.open(path) as image:
            fitted = fit(image.convert("RGB"), side)
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is not a readable image: {error}\n  get it again") from error
    return np.asarray(fitted).transpose(2, 0, 1).astype(np.float32) / np.float32(255)
