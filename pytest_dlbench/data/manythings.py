"""ManyThings: Spanish sentences and their English translations, for models that read one and write the other.

Source: Tatoeba and manythings.org/anki, in the edition that TensorFlow's tutorials keep; the site's own file is larger
and has a third column. One row of tokens holds the Spanish sentence, padded to SOURCE_STEPS, and behind it what the
decoder is given, padded to TARGET_STEPS; the labels are what it is to say. tartu trains on the first 100,000 lines;
this is the first 100,000 pairs that fit these lengths, which are all but a few of those lines, split 80 to 20 by a
seed. As in tartu's split, one English sentence with two translations may be on both sides.
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
    about="119,000 Spanish and English sentences, 2.5 MiB packed",
    page="https://www.manythings.org/anki/",
    contents=("spa-eng/spa.txt",),
    files=(File(name="spa-eng.zip", url="https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"),),
)

END = "<end>"
Pair = tuple[list[str], list[str]]


def read(path: Path, *, examples: tuple[int, int]) -> Arrays:
    """As many pairs as there are to be examples, the first that fit, in a seeded order; the last ones test.

    Vocabularies are of the training split. Raises DataError for a file of another form, and for one of fewer pairs.
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
    """Words and marks of a sentence in lower case, without accents, and END.

    Letters a to z and the marks ? . ! , ¿ count, as in tartu's preprocessing; all else parts words.
    """
    plain = "".join(each for each in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(each) != "Mn")
    return [*re.findall(r"[a-z]+|[?.!,¿]", plain), END]


def _first(count: int, path: Path) -> list[Pair]:
    pairs = []
    for english, spanish in _lines(path):
        source, target = sentence(spanish), sentence(english)
        # Both begin with START, but for the decoder END is only to be said, not given.
        if len(source) < SOURCE_STEPS and len(target) <= TARGET_STEPS:
            pairs.append((source, target))
        if len(pairs) == count:
            return pairs
    raise DataError(
        f"{path} has {len(pairs):,} pairs that fit, wanted are {count:,}; it is cut short, or another edition"
    )


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), start=1):
            columns = line.split("\t")
            if len(columns) != 2:
                raise DataError(
                    f"{path}, line {number} has {len(columns)} columns, wanted are English and Spanish;\n"
                    "  the newer file of manythings.org has a third one, and other sentences;\n"
                    "  to get the right one: dlbench data fetch manythings"
                )
            yield columns[0], columns[1]
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no UTF-8 text: {error}; get it again") from error


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
