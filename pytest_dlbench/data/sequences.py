"""Lists of tokens as the int32 rows that models take."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.text import PADDING


def padded(texts: Sequence[Sequence[int]], steps: int) -> NDArray[np.int32]:
    """One row a text (N×steps), padded behind its end; raises ValueError for one that is longer."""
    rows = np.full((len(texts), steps), PADDING, dtype=np.int32)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = text
    return rows


def cut(tokens: Sequence[int], steps: int, *, is_end_kept: bool) -> Sequence[int]:
    """At most ``steps`` tokens: the first ones, or the last ones, as the sources differ in that."""
    return tokens[-steps:] if is_end_kept else tokens[:steps]


def windows(tokens: Sequence[int], steps: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Windows that follow each other without overlap (N×steps), and as labels the token behind each token.

    What is left at the end, and fills no window, is left out.
    """
    stream = np.asarray(tokens, dtype=np.int64)
    count = (len(stream) - 1) // steps
    inputs = stream[: count * steps].reshape(count, steps).astype(np.int32)
    return inputs, stream[1 : count * steps + 1].reshape(count, steps)


def as_file(array: NDArray[Any]) -> bytes:
    """An array as the content of a .npy file."""
    target = BytesIO()
    np.save(target, array, allow_pickle=False)
    return target.getvalue()
