"""Words, vocabularies, and the text data sets read from files: IMDB, Penn Treebank, ManyThings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data import manythings as pairs
from pytest_dlbench.data.manythings import read as read_pairs
from pytest_dlbench.data.manythings import sentence
from pytest_dlbench.data.ptb import read as read_ptb
from pytest_dlbench.data.sequences import windows
from pytest_dlbench.data.text import UNKNOWN, vocabulary, words
from pytest_dlbench.errors import DataError
from tests.doubles.official_files import write

REVIEWS = {
    "aclImdb/train/neg/0_2.txt": "Bad, bad film.<br /><br />Don't!",
    "aclImdb/train/neg/1_1.txt": "bad",
    "aclImdb/train/pos/0_9.txt": "A good film",
    "aclImdb/train/pos/1_8.txt": "good " * 600 + "end",
    "aclImdb/test/neg/0_3.txt": "A bad surprise",
    "aclImdb/test/pos/0_7.txt": "good",
}
PTB = {
    "ptb.train.txt": " the cat sat on the mat \n the <unk> is N \n" * 10,
    "ptb.valid.txt": " the cat is <unk> \n" * 10,
    "ptb.test.txt": " the mat is N \n" * 10,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's GOOD, isn't it?", ["it's", "good", "isn't", "it"]),
        ("It\u2019s", ["it's"]),
        ("a-b_c 'quoted' 10/10", ["a", "b", "c", "quoted", "10", "10"]),
        ("Fräulein Æon", ["fräulein", "æon"]),
        ("...", []),
    ],
)
def test_words_are_runs_of_letters_and_digits(text, expected):
    assert words(text) == expected


def test_words_are_numbered_by_frequency_then_by_code_point():
    assert dict(vocabulary([["b", "a", "c"], ["c"]], 10).ids) == {"c": 3, "a": 4, "b": 5}


@given(st.lists(st.lists(st.text("abcdef", min_size=1, max_size=2), max_size=20), max_size=5), st.integers(4, 20))
def test_no_number_reaches_the_size_of_the_vocabulary(texts, size):
    known = vocabulary(texts, size)
    assert all(UNKNOWN <= number < size for text in texts for number in known.numbers(text))


def test_words_beyond_the_vocabulary_are_unknown():
    assert vocabulary([["a", "a", "b"]], 4).numbers(["a", "b", "z"]) == [3, UNKNOWN, UNKNOWN]


@given(st.integers(2, 60), st.integers(1, 9))
def test_the_label_of_a_window_is_the_input_shifted_by_one(count, steps):
    inputs, labels = windows(range(count), steps)
    np.testing.assert_array_equal(labels, inputs + 1)
    assert inputs.ravel().tolist() == list(range((count - 1) // steps * steps))


def test_a_review_begins_with_the_start_and_is_padded_at_the_end(prepared_of):
    arrays = prepared_of(DATASETS["imdb500"], REVIEWS, examples=(4, 2))
    # By frequency: good, bad, film, then a, don't, end by code point.
    assert arrays.train_inputs[0, :6].tolist() == [1, 4, 4, 5, 7, 0]
    assert not arrays.train_inputs[1, 2:].any()


def test_words_that_only_the_test_half_has_are_unknown(prepared_of):
    arrays = prepared_of(DATASETS["imdb500"], REVIEWS, examples=(4, 2))
    assert arrays.test_inputs[0, :4].tolist() == [1, 6, 4, UNKNOWN]


def test_bad_reviews_are_0_and_good_ones_1(prepared_of):
    arrays = prepared_of(DATASETS["imdb500"], REVIEWS, examples=(4, 2))
    assert (arrays.train_labels.tolist(), arrays.test_labels.tolist()) == ([0, 0, 1, 1], [0, 1])


def test_imdb500_keeps_the_beginning_of_a_long_review(prepared_of):
    long = prepared_of(DATASETS["imdb500"], REVIEWS, examples=(4, 2)).train_inputs[3]
    assert (long[0], long[-1]) == (1, 3)


def test_imdb150_keeps_the_end_of_a_long_review(prepared_of):
    long = prepared_of(DATASETS["imdb150"], REVIEWS, examples=(4, 2)).train_inputs[3]
    assert (long[0], long[-2], long[-1]) == (3, 3, 8)


def test_the_vocabulary_is_stored_with_the_arrays(prepared_of):
    folder = prepared_of(DATASETS["imdb500"], REVIEWS, examples=(4, 2)).folder
    assert (folder / "vocabulary.txt").read_text().split() == ["good", "bad", "film", "a", "don't", "end"]


def test_a_review_that_is_not_text_is_refused(prepared_of):
    with pytest.raises(DataError, match=r"0_7\.txt is not UTF-8 text"):
        prepared_of(DATASETS["imdb500"], {**REVIEWS, "aclImdb/test/pos/0_7.txt": b"\xff\xfe"}, examples=(4, 2))


def test_ptb_numbers_words_by_their_first_appearance(tmp_path):
    arrays = read_ptb(write(tmp_path, PTB), steps=6, most_words=10_000)
    assert arrays.train_inputs[0].tolist() == [0, 1, 2, 3, 0, 4]


def test_ptb_joins_lines_with_an_end_token(tmp_path):
    arrays = read_ptb(write(tmp_path, PTB), steps=6, most_words=10_000)
    assert arrays.train_labels[0].tolist() == [1, 2, 3, 0, 4, 5]


def test_ptb30_and_ptb32_are_cut_from_the_official_number_of_tokens():
    assert [(DATASETS[name].train_examples, DATASETS[name].test_examples) for name in ("ptb30", "ptb32")] == [
        (30_986, 2_747),
        (29_049, 2_575),
    ]


def test_ptb_stores_the_validation_split_with_the_arrays(tmp_path):
    assert "valid_inputs.npy" in read_ptb(write(tmp_path, PTB), steps=6, most_words=10_000).extras


def test_ptb_refuses_a_word_that_is_not_in_training(tmp_path):
    with pytest.raises(DataError, match=r"ptb\.test\.txt has the word 'dog', which ptb\.train\.txt lacks"):
        read_ptb(write(tmp_path, {**PTB, "ptb.test.txt": " dog \n"}), steps=2, most_words=10_000)


def test_ptb_refuses_more_words_than_models_support(tmp_path):
    with pytest.raises(DataError, match="has 9 different words"):
        read_ptb(write(tmp_path, PTB), steps=6, most_words=8)


def test_sentences_are_lower_case_without_accents_and_marks_are_words():
    assert sentence("¿Dónde está el niño?") == ["¿", "donde", "esta", "el", "nino", "?", "<end>"]


@pytest.fixture
def spanish(tmp_path):
    """Ten sentences, one of them too long."""

    def file_of(lines):
        return write(tmp_path, {"spa.txt": "".join(f"{line}\n" for line in lines)}) / "spa.txt"

    return file_of


SENTENCES = [f"Go {'on ' * number}now.\tVe {'ya ' * number}ahora." for number in range(10)]


def test_a_pair_is_the_source_followed_by_the_decoders_input(spanish):
    arrays = read_pairs(spanish(SENTENCES), examples=(8, 2))
    source, given = np.split(arrays.train_inputs, [pairs.SOURCE_STEPS], axis=1)
    assert set(source[:, 0]) == set(given[:, 0]) == {1}
    np.testing.assert_array_equal(given[:, 1:][arrays.train_labels[:, 1:] > 0], shifted(arrays.train_labels))


def shifted(labels):
    """The decoder's input: the previous word of each word."""
    return labels[:, :-1][labels[:, 1:] > 0]


def test_labels_end_with_the_end_which_the_decoder_does_not_read(spanish):
    arrays = read_pairs(spanish(SENTENCES), examples=(8, 2))
    lengths = (arrays.train_labels > 0).sum(axis=1)
    ends = arrays.train_labels[np.arange(8), lengths - 1]
    assert len(set(ends)) == 1
    given = arrays.train_inputs[:, pairs.SOURCE_STEPS :]
    assert not (given == ends[0]).any()


def test_pairs_that_are_too_long_are_skipped(spanish):
    lines = [f"Go {'on ' * 20}now.\tVe.", f"Go.\tVe {'ya ' * 20}ahora.", *SENTENCES]
    arrays = read_pairs(spanish(lines), examples=(8, 2))
    np.testing.assert_array_equal(arrays.train_inputs, read_pairs(spanish(SENTENCES), examples=(8, 2)).train_inputs)


def test_too_few_pairs_are_refused_with_both_numbers(spanish):
    with pytest.raises(DataError, match="has 10 pairs that fit, expected 11"):
        read_pairs(spanish(SENTENCES), examples=(9, 2))


def test_the_newer_file_with_a_third_column_is_refused(spanish):
    with pytest.raises(DataError, match=r"line 1 has 3 columns(.|\n)*newer file of manythings\.org"):
        read_pairs(spanish(["Go.\tVe.\tCC-BY 2.0"]), examples=(1, 0))


def test_manythings_fits_a_decoder_of_16_steps():
    dataset = DATASETS["manythings"]
    assert (dataset.shape, dataset.label_shape, dataset.classes, dataset.vocabulary) == ((36,), (16,), 10_000, 20_000)
