"""Lists of tokens as int32 rows for models."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.text import PADDING


def padded(texts: Sequence[Sequence[int]], steps: int) -> NDArray[np.int32]:
    """One row per text (N×steps), padded at the end; raises ValueError for a text that is too long."""
    rows = np.full((len(texts), steps), PADDING, dtype=np.int32)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = text
    return rows


def cut(tokens: Sequence[int], steps: int, *, is_end_kept: bool) -> Sequence[int]:
    """At most ``steps`` tokens: the first or the last ones, because sources differ."""
    return tokens[-steps:] if is_end_kept else tokens[:steps]


def windows(tokens: Sequence[int], steps: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Consecutive windows without overlap (N×steps), with the next token of each token as label.

    An incomplete window at the end is dropped.
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
