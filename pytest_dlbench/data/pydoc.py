"""Real English text that comes with every Python: the language reference of ``help()``, for language models.

Source: ``pydoc_data.topics`` of the interpreter that runs pytest, under Python's licence. Only prose counts, each
paragraph once (several topics share sections), and every topic is in one split only, so that no test text was trained
on. The text depends on the interpreter: another release of Python yields different arrays of the same shape, with
another digest, and results of the two are not compared.

``pydoc30`` and ``pydoc32`` replace Penn Treebank, with its vocabulary of 10,000 (fewer occur), and ``pydoc-topics500``
and ``pydoc-topics150`` replace IMDB: is a piece of text about objects and their methods, or about the language's
statements and expressions?
"""

import platform
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.text import START, vocabulary, words
from pytest_dlbench.errors import DataError

if TYPE_CHECKING:
    import numpy as np

LANGUAGE_VOCABULARY = 10_000
# Available in every release since 3.11, with a margin.
TRAIN_TOKENS = 36_480
TEST_TOKENS = 7_680
TRAIN_PIECES = 1_920
TEST_PIECES = 480

EDITION = f"python{platform.python_version()}"
SEED = 20261121
# Words per piece, from a sentence to more than a model of 500 steps reads.
PIECE_WORDS = (20, 600)


def language(*, steps: int, vocabulary_size: int, windows_each: tuple[int, int]) -> Arrays:
    """Windows of tokens labelled with the next token: the first ``windows_each`` of both splits, and all of validation.

    Raises DataError if this Python's text is too short.
    """
    from pytest_dlbench.data.pydoc_text import Split, paragraphs, split_of, tokens
    from pytest_dlbench.data.sequences import as_file, windows

    texts: dict[Split, list[str]] = {"train": [], "valid": [], "test": []}
    for topic, found in paragraphs().items():
        texts[split_of(topic)] += [token for paragraph in found for token in tokens(paragraph)]
    known = vocabulary([texts["train"]], vocabulary_size)
    splits = {split: windows(known.numbers(text), steps) for split, text in texts.items()}
    train, test = (slice(wanted) for wanted in windows_each)
    _check_enough(f"train windows of {steps} tokens", len(splits["train"][0]), windows_each[0])
    _check_enough(f"test windows of {steps} tokens", len(splits["test"][0]), windows_each[1])
    return Arrays(
        train_inputs=splits["train"][0][train],
        train_labels=splits["train"][1][train],
        test_inputs=splits["test"][0][test],
        test_labels=splits["test"][1][test],
        extras={
            "valid_inputs.npy": as_file(splits["valid"][0]),
            "valid_labels.npy": as_file(splits["valid"][1]),
            "vocabulary.txt": known.lines(),
        },
    )


def groups(*, steps: int, vocabulary_size: int, is_end_kept: bool, pieces: tuple[int, int]) -> Arrays:
    """Pieces of text of varying length from two groups of topics, equally many from each.

    A piece is a run of words, drawn with a seed, from the concatenated topics of a group: within one topic its length
    would reveal the group. Pieces of one split may overlap; splits share no topic. The label is 1 for the group
    OBJECTS. Raises DataError if this Python's text is shorter than a piece.
    """
    import numpy as np

    from pytest_dlbench.data.pydoc_text import ASIDE, OBJECTS, paragraphs, split_of
    from pytest_dlbench.data.sequences import cut, padded

    texts = {topic: words(" ".join(found)) for topic, found in paragraphs().items() if topic not in ASIDE}
    # The validation split of the language models is used for training here.
    sides = {side: [topic for topic in texts if (split_of(topic) == "test") == side] for side in (False, True)}
    known = vocabulary((texts[topic] for topic in sides[False]), vocabulary_size)
    generator = np.random.default_rng(SEED)
    made = []
    for side, count in zip((False, True), pieces, strict=True):
        labels = generator.permutation(np.arange(count) % 2).astype(np.int64)
        by_label = [
            [word for topic in sides[side] if (topic in OBJECTS) == is_object for word in texts[topic]]
            for is_object in (False, True)
        ]
        drawn = [_piece(by_label[label], generator) for label in labels]
        rows = [cut([START, *known.numbers(piece)], steps, is_end_kept=is_end_kept) for piece in drawn]
        made.append((padded(rows, steps), labels))
    (train_inputs, train_labels), (test_inputs, test_labels) = made
    return Arrays(
        train_inputs=train_inputs,
        train_labels=train_labels,
        test_inputs=test_inputs,
        test_labels=test_labels,
        extras={"vocabulary.txt": known.lines()},
    )


def _piece(text: Sequence[str], generator: "np.random.Generator") -> Sequence[str]:
    _check_enough("words in a group of topics", len(text), PIECE_WORDS[1])
    length = int(generator.integers(*PIECE_WORDS))
    first = int(generator.integers(len(text) - length + 1))
    return text[first : first + length]


def _check_enough(what: str, found: int, wanted: int) -> None:
    if found < wanted:
        raise DataError(f"the help texts of this Python have {found} {what}, expected {wanted}; use a newer release")


def _make_language(steps: int) -> Arrays:
    return language(
        steps=steps, vocabulary_size=LANGUAGE_VOCABULARY, windows_each=(TRAIN_TOKENS // steps, TEST_TOKENS // steps)
    )


def _make_topics(steps: int, vocabulary: int, is_end_kept: bool) -> Arrays:
    pieces = (TRAIN_PIECES, TEST_PIECES)
    return groups(steps=steps, vocabulary_size=vocabulary, is_end_kept=is_end_kept, pieces=pieces)


def _language(steps: int) -> Dataset:
    return Dataset(
        name=f"pydoc{steps}",
        version=1,
        shape=(steps,),
        classes=LANGUAGE_VOCABULARY,
        train_examples=TRAIN_TOKENS // steps,
        test_examples=TEST_TOKENS // steps,
        make=partial(_make_language, steps),
        task="tokens",
        vocabulary=LANGUAGE_VOCABULARY,
        label_shape=(steps,),
        edition=EDITION,
    )


def _topics(steps: int, *, vocabulary: int, is_end_kept: bool) -> Dataset:
    return Dataset(
        name=f"pydoc-topics{steps}",
        version=1,
        shape=(steps,),
        classes=2,
        train_examples=TRAIN_PIECES,
        test_examples=TEST_PIECES,
        make=partial(_make_topics, steps, vocabulary, is_end_kept),
        vocabulary=vocabulary,
        edition=EDITION,
    )


DATASETS = (
    _language(30),
    _language(32),
    _topics(500, vocabulary=5_000, is_end_kept=False),
    _topics(150, vocabulary=30_000, is_end_kept=True),
)
