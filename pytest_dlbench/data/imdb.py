"""IMDB: 50,000 film reviews, good or bad, read as text, because the ready-made arrays of word numbers are pickles.

Source: A. Maas et al., Learning Word Vectors for Sentiment Analysis (2011). ``imdb500`` is for tartu's LSTM (5,000
words, 500 tokens) and ``imdb150`` for the GRU of the rosetta repository (30,000 words, the last 150 tokens). Both are
padded with zeros at the end and truncated, within each official half. (tartu's loader drops longer reviews and then
fills the training split from the official test half.) ``text.py`` defines a word.
"""

from functools import partial
from pathlib import Path

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source
from pytest_dlbench.data.text import START, vocabulary, words
from pytest_dlbench.errors import DataError

SOURCE = Source(
    name="imdb",
    about="50,000 film reviews, 80 MiB compressed",
    page="https://ai.stanford.edu/~amaas/data/sentiment/",
    contents=("aclImdb/train/pos/*.txt", "aclImdb/train/neg/*.txt", "aclImdb/test/pos/*.txt", "aclImdb/test/neg/*.txt"),
    files=(
        File(
            name="aclImdb_v1.tar.gz",
            url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            checksum="md5:7c2ac02c03563afcf9b574c7e56c153a",
        ),
    ),
)

OPINIONS = ("neg", "pos")


def read(folder: Path, *, vocabulary_size: int, steps: int, is_end_kept: bool) -> Arrays:
    """Both halves as word numbers; the label is 1 for a good review. Raises DataError for a file that is not text."""
    import numpy as np

    from pytest_dlbench.data.sequences import cut, padded

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


def _reviews(folder: Path) -> list[list[str]]:
    """The words of every review, in the order of the files' names."""
    return [words(_text(path).replace("<br />", " ")) for path in sorted(folder.glob("*.txt"))]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error}; get it again") from error


def _make(vocabulary: int, steps: int, is_end_kept: bool) -> Arrays:
    return read(folder_of(SOURCE) / "aclImdb", vocabulary_size=vocabulary, steps=steps, is_end_kept=is_end_kept)


def _imdb(steps: int, *, vocabulary: int, is_end_kept: bool) -> Dataset:
    return Dataset(
        name=f"imdb{steps}",
        version=1,
        shape=(steps,),
        classes=2,
        train_examples=25_000,
        test_examples=25_000,
        make=partial(_make, vocabulary, steps, is_end_kept),
        vocabulary=vocabulary,
        source=SOURCE,
    )


DATASETS = (
    _imdb(500, vocabulary=5_000, is_end_kept=False),
    _imdb(150, vocabulary=30_000, is_end_kept=True),
)
