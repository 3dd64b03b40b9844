"""The embedded text: prose only, without repetition, nothing in more than one split."""

import platform
import subprocess
import sys
from pydoc_data.topics import topics

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.data.pydoc import language
from pytest_dlbench.data.pydoc_text import OBJECTS, paragraphs, split_of, tokens
from pytest_dlbench.errors import DataError

LANGUAGES, TOPICS = ("pydoc30", "pydoc32"), ("pydoc-topics500", "pydoc-topics150")


@pytest.fixture(scope="module")
def made():
    return {name: DATASETS[name].make() for name in (*LANGUAGES, *TOPICS)}


@pytest.mark.parametrize("name", [*LANGUAGES, *TOPICS])
def test_this_python_has_enough_text(users_cache, name):
    assert prepare(DATASETS[name]).digest


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_label_of_a_token_is_the_next_token(made, name):
    arrays = made[name]
    np.testing.assert_array_equal(arrays.train_inputs.ravel()[1:], arrays.train_labels.ravel()[:-1])


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_vocabulary_is_that_of_models_for_penn_treebank(made, name):
    assert (DATASETS[name].vocabulary, DATASETS[name].classes) == (10_000, 10_000)


def test_the_validation_split_is_stored_with_the_arrays(made):
    assert {"valid_inputs.npy", "valid_labels.npy", "vocabulary.txt"} == set(made["pydoc30"].extras)


def test_no_paragraph_occurs_twice():
    found = [paragraph for each in paragraphs().values() for paragraph in each]
    assert len(found) == len(set(found))


def test_a_paragraph_that_two_topics_share_belongs_to_the_first():
    shared = "This is one sentence of nine words in total."
    assert paragraphs({"b": shared, "a": shared}) == {"a": [shared], "b": []}


@pytest.mark.parametrize(
    "text",
    [
        "   >>> [x**2 for x in range(10)][1:3] == [1, 4] and {1: 2}[1] != 3",
        "Too short to be prose.",
        '   if_stmt ::= "if" assignment_expression ":" suite ("elif" assignment_expression ":" suite)*',
        "************************************",
    ],
)
def test_code_grammar_and_headings_are_not_prose(text):
    assert paragraphs({"a": text}) == {"a": []}


def test_every_split_has_topics():
    assert {split_of(topic) for topic in topics} == {"train", "valid", "test"}


def test_the_split_of_a_topic_depends_only_on_its_name():
    assert [split_of(topic) for topic in ("assert", "if", "types")] == [split_of(t) for t in ("assert", "if", "types")]


def test_tokens_are_words_marks_and_numbers_as_n():
    assert tokens('Since 3.11, "x" works.') == ["since", "N", ".", "N", ",", "x", "works", ".", "<eos>"]


@pytest.mark.parametrize("name", TOPICS)
def test_both_groups_have_equally_many_pieces(made, name):
    assert made[name].train_labels.mean() == made[name].test_labels.mean() == 0.5


@pytest.mark.parametrize("name", TOPICS)
def test_pieces_vary_in_length_and_are_padded_at_the_end(made, name):
    rows = made[name].train_inputs
    lengths = (rows > 0).sum(axis=1)
    assert lengths.max() == rows.shape[1]
    assert len(set(lengths)) > 50
    assert all(not row[length:].any() for row, length in zip(rows, lengths, strict=True))


def test_both_groups_are_in_every_split():
    sides = {(topic in OBJECTS, split_of(topic) == "test") for topic in topics}
    assert len(sides) == 4


def words_of(rows, size):
    counts = np.zeros((len(rows), size))
    for count, row in zip(counts, rows, strict=True):
        np.add.at(count, row[row > 2], 1)
    return counts


@pytest.mark.parametrize("name", TOPICS)
def test_the_words_of_a_piece_predict_its_group_better_than_chance(made, name):
    arrays, size = made[name], DATASETS[name].vocabulary
    train, test = words_of(arrays.train_inputs, size), words_of(arrays.test_inputs, size)
    weights = [np.log(train[arrays.train_labels == label].sum(axis=0) + 1) for label in (0, 1)]
    scores = test @ (weights[1] - np.log(np.exp(weights[1]).sum()) - weights[0] + np.log(np.exp(weights[0]).sum()))
    assert np.mean((scores > 0) == arrays.test_labels) > 0.6


def test_a_python_with_too_little_text_is_refused():
    with pytest.raises(DataError, match=r"the help texts of this Python have \d+ train windows of 30 tokens, expected"):
        language(steps=30, vocabulary_size=10_000, windows_each=(10**6, 10))


@pytest.mark.parametrize("name", [*LANGUAGES, *TOPICS])
def test_the_text_of_each_release_has_a_folder_of_its_own(name):
    assert DATASETS[name].folder_name == f"{name}-v1-python{platform.python_version()}"


def test_naming_data_sets_loads_neither_numpy_nor_the_text():
    check = "import sys, pytest_dlbench.data; sys.exit(bool({'numpy', 'PIL', 'pooch', 'pydoc_data'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
