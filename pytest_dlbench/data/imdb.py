"""IMDB: 50,000 film reviews, good or bad, from their text: the ready-made arrays of word numbers are pickled objects.

Source: A. Maas et al., Learning Word Vectors for Sentiment Analysis (2011). ``imdb500`` stands for tartu's LSTM (5,000
words, 500 tokens) and ``imdb150`` for the GRU of the rosetta repository (30,000 words, the last 150 tokens). Both are
padded with zeros behind their end, and cut within each official half. (tartu's loader drops longer reviews and then
fills the training split from the official test half.) ``text.py`` says what a word is.
"""

from functools import partial

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source

SOURCE = Source(
    name="imdb",
    about="50,000 film reviews, 80 MiB packed",
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


def _make(vocabulary: int, steps: int, is_end_kept: bool) -> Arrays:
    # Late: NumPy is slow to load, and needed once for each cache.
    from pytest_dlbench.data.imdb_arrays import read  # noqa: PLC0415

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
