"""ManyThings: Spanish sentences and their English translations, for sequence-to-sequence models.

Source: Tatoeba and manythings.org/anki, in the edition hosted for TensorFlow's tutorials; the site's own file is larger
and has a third column. A row of tokens holds the Spanish sentence, padded to SOURCE_STEPS, followed by the decoder's
input, padded to TARGET_STEPS; the labels are its expected output. tartu trains on the first 100,000 lines; these are
the first 100,000 pairs that fit these lengths, which are all but a few of those lines, split 80 to 20 by a seed. As in
tartu's split, an English sentence with two translations may be in both splits.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source
from pytest_dlbench.data.text import START, vocabulary
from pytest_dlbench.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SOURCE_STEPS = 20
TARGET_STEPS = 16
SOURCE_WORDS = 20_000
TARGET_WORDS = 10_000
TRAIN_EXAMPLES = 80_000
TEST_EXAMPLES = 20_000
SEED = 42

SOURCE = Source(
    name="manythings",
    about="119,000 Spanish and English sentences, 2.5 MiB compressed",
    page="https://www.manythings.org/anki/",
    contents=("spa-eng/spa.txt",),
    files=(File(name="spa-eng.zip", url="https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"),),
)

END = "<end>"
Pair = tuple[list[str], list[str]]


def read(path: Path, *, examples: tuple[int, int]) -> Arrays:
    """The first pairs that fit, as many as ``examples``, in a seeded order; the last ones are the test split.

    Vocabularies come from the training split. Raises DataError for a file in another format or with too few pairs.
    """
    import numpy as np

    from pytest_dlbench.data.sequences import padded

    pairs = _first(sum(examples), path)
    order = np.random.default_rng(SEED).permutation(len(pairs))
    shuffled = [pairs[position] for position in order]
    train, test = shuffled[: examples[0]], shuffled[examples[0] :]
    spanish = vocabulary((pair[0] for pair in train), SOURCE_WORDS)
    english = vocabulary((pair[1] for pair in train), TARGET_WORDS)

    def inputs(chosen: Sequence[Pair]) -> "NDArray[np.int32]":
        sources = padded([[START, *spanish.numbers(source)] for source, _ in chosen], SOURCE_STEPS)
        given = padded([[START, *english.numbers(target[:-1])] for _, target in chosen], TARGET_STEPS)
        return np.hstack([sources, given])

    def labels(chosen: Sequence[Pair]) -> "NDArray[np.int64]":
        return padded([english.numbers(target) for _, target in chosen], TARGET_STEPS).astype(np.int64)

    return Arrays(
        train_inputs=inputs(train),
        train_labels=labels(train),
        test_inputs=inputs(test),
        test_labels=labels(test),
        extras={"vocabulary-spanish.txt": spanish.lines(), "vocabulary-english.txt": english.lines()},
    )


def sentence(text: str) -> list[str]:
    """Words and punctuation of a sentence in lower case, without accents, and END.

    Only letters a to z and the marks ? . ! , ¿ count, as in tartu's preprocessing; anything else separates words.
    """
    plain = "".join(each for each in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(each) != "Mn")
    return [*re.findall(r"[a-z]+|[?.!,¿]", plain), END]


def _first(count: int, path: Path) -> list[Pair]:
    pairs = []
    for english, spanish in _lines(path):
        source, target = sentence(spanish), sentence(english)
        # Both begin with START, but the decoder only outputs END and does not read it.
        if len(source) < SOURCE_STEPS and len(target) <= TARGET_STEPS:
            pairs.append((source, target))
        if len(pairs) == count:
            return pairs
    raise DataError(
        f"{path} has {len(pairs):,} pairs that fit, expected {count:,}; it is truncated, or another edition"
    )


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), start=1):
            columns = line.split("\t")
            if len(columns) != 2:
                raise DataError(
                    f"{path}, line {number} has {len(columns)} columns, expected English and Spanish;\n"
                    "  the newer file of manythings.org has a third one, and other sentences;\n"
                    "  to get the right one: dlbench data fetch manythings"
                )
            yield columns[0], columns[1]
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error}; get it again") from error


def _make() -> Arrays:
    return read(folder_of(SOURCE) / "spa-eng" / "spa.txt", examples=(TRAIN_EXAMPLES, TEST_EXAMPLES))


DATASETS = (
    Dataset(
        name="manythings",
        version=1,
        shape=(SOURCE_STEPS + TARGET_STEPS,),
        classes=TARGET_WORDS,
        train_examples=TRAIN_EXAMPLES,
        test_examples=TEST_EXAMPLES,
        make=_make,
        task="tokens",
        vocabulary=max(SOURCE_WORDS, TARGET_WORDS),
        label_shape=(TARGET_STEPS,),
        source=SOURCE,
    ),
)
