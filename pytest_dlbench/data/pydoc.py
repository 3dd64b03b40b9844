"""Real English text that every Python has: the language reference behind ``help()``, for models of language.

Source: ``pydoc_data.topics`` of the interpreter that runs pytest, under Python's licence. Only prose counts, each
paragraph once (several topics share sections), and every topic is on one side of the split, so that nothing that is
tested was trained on. The text is the interpreter's: another release of Python makes other arrays of the same shape,
with another digest, and figures of the two are not compared.

``pydoc30`` and ``pydoc32`` stand where Penn Treebank would, with its vocabulary of 10,000 (fewer occur), and
``pydoc-topics500`` and ``pydoc-topics150`` where IMDB would: does a piece of text speak of objects and their methods,
or of the language's statements and expressions?
"""

from functools import partial

from pytest_dlbench.data.dataset import Arrays, Dataset

LANGUAGE_VOCABULARY = 10_000
# Tokens that every release from 3.11 has, and some more that it does not need.
TRAIN_TOKENS = 36_480
TEST_TOKENS = 7_680
TRAIN_PIECES = 1_920
TEST_PIECES = 480


def _make_language(steps: int) -> Arrays:
    # Late: NumPy and a megabyte of text are slow to load, and needed once for each cache.
    from pytest_dlbench.data.pydoc_arrays import language  # noqa: PLC0415

    return language(
        steps=steps, vocabulary_size=LANGUAGE_VOCABULARY, windows_each=(TRAIN_TOKENS // steps, TEST_TOKENS // steps)
    )


def _make_topics(steps: int, vocabulary: int, is_end_kept: bool) -> Arrays:
    from pytest_dlbench.data.pydoc_arrays import groups  # noqa: PLC0415

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
    )


DATASETS = (
    _language(30),
    _language(32),
    _topics(500, vocabulary=5_000, is_end_kept=False),
    _topics(150, vocabulary=30_000, is_end_kept=True),
)
