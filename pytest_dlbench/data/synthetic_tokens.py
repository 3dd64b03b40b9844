"""Synthetic token arrays: classified texts, a language, sentence pairs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.dataset import Arrays, Task
from pytest_dlbench.data.text import FIRST_WORD, PADDING, START
from pytest_dlbench.errors import DataError
from pytest_dlbench.model import Shape

# Few enough that each occurs often in 1,280 examples.
WORDS_OF_A_CLASS = 16
WORDS_OF_A_LANGUAGE = 64
OWN_WORD_SHARE = 0.5
NOISE_SHARE = 0.1
END = FIRST_WORD
Split = Callable[[int], tuple[NDArray[np.int32], NDArray[np.int64]]]


def tokens(
    shape: Shape,
    classes: int,
    *,
    task: Task,
    vocabulary: int | None,
    label_shape: Shape,
    examples: tuple[int, int],
    seed: int,
) -> Arrays:
    """Training and test examples by one seeded rule; raises DataError if there is no rule for this kind of data."""
    generator = np.random.default_rng(seed)
    if vocabulary is None or len(shape) != 1 or (task, len(label_shape)) not in (("class", 0), ("tokens", 1)):
        raise DataError(
            f"no synthetic data of shape {shape}, task {task!r}, vocabulary {vocabulary}, labels {label_shape}:\n"
            "  tokens are one-dimensional and have a vocabulary; labels are classes or one-dimensional tokens"
        )
    (steps,) = shape
    split: Split
    if task == "class":
        split = _texts(steps, classes, vocabulary, generator)
    elif label_shape == shape:
        split = _language(steps, min(classes, vocabulary), generator)
    else:
        split = _pairs(steps - label_shape[0], label_shape[0], classes, vocabulary, generator)
    train, test = (split(count) for count in examples)
    return Arrays(train_inputs=train[0], train_labels=train[1], test_inputs=test[0], test_labels=test[1])


def _texts(steps: int, classes: int, vocabulary: int, generator: np.random.Generator) -> Split:
    """Texts of varying length, padded at the end; half of the words occur only in their class."""
    each = min(WORDS_OF_A_CLASS, (vocabulary - FIRST_WORD) // classes)
    if each < 1:
        raise DataError(f"a vocabulary of {vocabulary} is too small for a word for each of {classes} classes")
    own = FIRST_WORD + generator.permutation(vocabulary - FIRST_WORD)[: each * classes].reshape(classes, each)

    def split(count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        labels = generator.permutation(np.arange(count) % classes).astype(np.int64)
        any_words = generator.integers(FIRST_WORD, vocabulary, size=(count, steps))
        own_words = own[labels[:, None], generator.integers(each, size=(count, steps))]
        rows = np.where(generator.random((count, steps)) < OWN_WORD_SHARE, own_words, any_words)
        rows[:, 0] = START
        rows[np.arange(steps) >= _lengths(count, steps, generator)[:, None]] = PADDING
        return rows.astype(np.int32), labels

    return split


def _language(steps: int, vocabulary: int, generator: np.random.Generator) -> Split:
    """Texts in which about 9 of 10 tokens are a seeded function of the previous one."""
    size = min(WORDS_OF_A_LANGUAGE, vocabulary)
    following = generator.permutation(size)

    def split(count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        rows = generator.integers(size, size=(count, steps + 1))
        is_noise = generator.random((count, steps + 1)) < NOISE_SHARE
        for step in range(1, steps + 1):
            rows[:, step] = np.where(is_noise[:, step], rows[:, step], following[rows[:, step - 1]])
        return rows[:, :-1].astype(np.int32), rows[:, 1:].astype(np.int64)

    return split


def _pairs(
    source_steps: int, target_steps: int, classes: int, vocabulary: int, generator: np.random.Generator
) -> Split:
    """Sentences of varying length, each followed by the decoder's input: its translation, word by word.

    A word's translation is a seeded function of it. Both are padded; the translation begins with START, which the
    decoder only reads, and ends with END, which it only outputs.
    """
    size = min(WORDS_OF_A_LANGUAGE, vocabulary - FIRST_WORD, classes - FIRST_WORD - 1)
    if size < 1 or source_steps < 1 or target_steps < 2:
        raise DataError(
            f"no synthetic pairs of {source_steps} and {target_steps} steps with {vocabulary} and {classes} tokens"
        )
    translation = END + 1 + generator.permutation(size)
    longest = min(source_steps, target_steps - 1)

    def split(count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        words = generator.integers(size, size=(count, longest))
        lengths = _lengths(count, longest, generator)
        is_word = np.arange(longest) < lengths[:, None]
        sources, labels = _padding(count, source_steps), _padding(count, target_steps)
        sources[:, :longest] = np.where(is_word, FIRST_WORD + words, PADDING)
        labels[:, :longest] = np.where(is_word, translation[words], PADDING)
        labels[np.arange(count), lengths] = END
        given = np.hstack([np.full((count, 1), START), labels[:, :-1]])
        given[given == END] = PADDING
        return np.hstack([sources, given]).astype(np.int32), labels

    return split


def _padding(count: int, steps: int) -> NDArray[Any]:
    return np.full((count, steps), PADDING, dtype=np.int64)


def _lengths(count: int, steps: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """From a quarter of the steps to all of them."""
    return generator.integers(max(1, steps // 4), steps + 1, size=count)
