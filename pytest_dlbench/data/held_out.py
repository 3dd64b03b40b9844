"""A validation split, cut from the training part of a data set: what chooses among models sees no test part."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from pytest_dlbench.data.dataset import Arrays, Dataset, Rows
from pytest_dlbench.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# One of five training examples is held out, always the same ones.
FIFTHS, SEED = 5, 20260101


@lru_cache(maxsize=64)
def validated(dataset: Dataset) -> Dataset:
    """The training part alone: four fifths of it to train on, and one fifth, for validation, as its test part.

    Raises DataError for a data set with fewer than five training examples.
    """
    held_out = dataset.train_examples // FIFTHS
    if not held_out:
        raise DataError(
            f"data set {dataset.name!r} has {dataset.train_examples} training examples: a validation split takes one"
            f" of {FIFTHS}"
        )
    return replace(
        dataset,
        name=f"{dataset.name}-validated",
        train_examples=dataset.train_examples - held_out,
        test_examples=held_out,
        make=partial(_make, dataset),
    )


def held_out_index(examples: int) -> "NDArray[np.int64]":
    """The indices of the held-out examples among those of the training part, sorted."""
    import numpy as np

    return np.sort(np.random.default_rng(SEED).permutation(examples)[: examples // FIFTHS])


def _make(dataset: Dataset) -> Arrays:
    import numpy as np

    whole = dataset.make()
    is_held_out = np.zeros(dataset.train_examples, dtype=bool)
    is_held_out[held_out_index(dataset.train_examples)] = True
    return Arrays(
        train_inputs=_chosen(whole.train_inputs, ~is_held_out),
        train_labels=whole.train_labels[~is_held_out],
        test_inputs=_chosen(whole.train_inputs, is_held_out),
        test_labels=whole.train_labels[is_held_out],
        extras=whole.extras,
    )


def _chosen(
    inputs: "NDArray[np.float32 | np.int32] | Rows", is_chosen: "NDArray[np.bool_]"
) -> "NDArray[np.float32 | np.int32] | Rows":
    """These examples; those that are made in pieces still are, and each split makes all of them."""
    if not isinstance(inputs, Rows):
        return inputs[is_chosen]
    whole = inputs

    def pieces() -> "Iterator[NDArray[np.float32]]":
        first = 0
        for piece in whole.pieces():
            yield piece[is_chosen[first : first + len(piece)]]
            first += len(piece)

    return Rows(shape=(int(is_chosen.sum()), *whole.shape[1:]), pieces=pieces)
