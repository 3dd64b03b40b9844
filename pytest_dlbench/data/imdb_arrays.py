"""The arrays of IMDB: one UTF-8 text a file, in a folder for each split and opinion."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.data.sequences import padded
from pytest_dlbench.data.text import START, vocabulary, words
from pytest_dlbench.errors import DataError

OPINIONS = ("neg", "pos")


def read(folder: Path, *, vocabulary_size: int, steps: int, is_end_kept: bool) -> Arrays:
    """Both halves as numbers of words; the label is 1 for a good review. Raises DataError for what is no text."""
    halves = {split: [_reviews(folder / split / opinion) for opinion in OPINIONS] for split in ("train", "test")}
    known = vocabulary((review for reviews in halves["train"] for review in reviews), vocabulary_size)
    inputs = {
        split: [cut([START, *known.numbers(text)], steps, is_end_kept=is_end_kept) for half in reviews for text in half]
        for split, reviews in halves.items()
    }
    labels = {
        split: np.repeat(np.arange(2, dtype=np.int64), [len(half) for half in reviews])
        for split, reviews in halves.items()
    }
    return Arrays(
        train_inputs=padded(inputs["train"], steps),
        train_labels=labels["train"],
        test_inputs=padded(inputs["test"], steps),
        test_labels=labels["test"],
        extras={"vocabulary.txt": known.lines()},
    )


def cut(tokens: Sequence[int], steps: int, *, is_end_kept: bool) -> Sequence[int]:
    """At most ``steps`` tokens: the first ones, or the last ones, as the sources differ in that."""
    return tokens[-steps:] if is_end_kept else tokens[:steps]


def _reviews(folder: Path) -> list[list[str]]:
    """The words of every review, in the order of the files' names."""
    return [words(_text(path).replace("<br />", " ")) for path in sorted(folder.glob("*.txt"))]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no UTF-8 text: {error}; get it again") from error
