"""Other synthetic data than classified images: large inputs, flags, texts, a language, sentence pairs."""

from math import prod

import numpy as np
import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.errors import DataError

PARTS = ("train_inputs", "train_labels", "test_inputs", "test_labels")
TEXTS = synthetic((500,), 2, vocabulary=5_000)
LANGUAGE = synthetic((30,), 10_000, task="tokens", vocabulary=10_000, label_shape=(30,))
PAIRS = synthetic((36,), 10_000, task="tokens", vocabulary=20_000, label_shape=(16,))
FLAGS = synthetic((3, 8, 8), 14, task="flags")
EVERY = [TEXTS, LANGUAGE, PAIRS, FLAGS]
every_kind = pytest.mark.parametrize("dataset", EVERY, ids=lambda dataset: dataset.name)


@every_kind
def test_every_kind_matches_its_declaration(users_cache, dataset):
    assert prepare(dataset).digest


@every_kind
def test_the_data_are_reproducible(dataset):
    one, other = dataset.make(), dataset.make()
    assert all(np.array_equal(getattr(one, part), getattr(other, part)) for part in PARTS)


def test_every_kind_has_its_own_name():
    assert [dataset.name for dataset in EVERY] == [
        "synthetic-500-2-of5000",
        "synthetic-30-10000-of10000-tokens",
        "synthetic-36-10000-of20000-tokens-16",
        "synthetic-3x8x8-14-flags",
    ]


@pytest.mark.parametrize(
    ("shape", "classes", "examples"),
    [
        ((3, 32, 32), 10, (1280, 320)),
        ((26_752,), 26_752, (1003, 250)),
        ((3, 224, 224), 1000, (177, 44)),
        ((3, 600, 600), 10, (64, 32)),
    ],
)
def test_large_inputs_have_as_many_examples_as_fit_into_128_mib(shape, classes, examples):
    dataset = synthetic(shape, classes)
    assert (dataset.train_examples, dataset.test_examples) == examples
    assert sum(examples) * 4 * prod(shape) <= 128 * 2**20 or examples == (64, 32)


def test_with_more_classes_than_examples_each_occurring_class_has_several():
    arrays = synthetic((3, 224, 224), 1000).make()
    counts = np.bincount(arrays.train_labels)
    assert counts.min() >= 8
    assert set(arrays.test_labels) <= set(arrays.train_labels)


def test_flags_are_a_linear_function_of_the_image():
    arrays = FLAGS.make()
    train, test = (inputs.reshape(len(inputs), -1) - 0.5 for inputs in (arrays.train_inputs, arrays.test_inputs))
    weights, *_ = np.linalg.lstsq(train, 2 * arrays.train_labels - 1, rcond=None)
    assert np.mean((test @ weights > 0) == arrays.test_labels) > 0.9


def test_flags_are_balanced():
    assert FLAGS.make().train_labels.mean() == pytest.approx(0.5, abs=0.05)


def test_images_with_flags_range_from_0_to_1():
    images = FLAGS.make().train_inputs
    assert 0 <= images.min() < images.max() <= 1


def test_texts_vary_in_length_and_are_padded_at_the_end():
    rows = TEXTS.make().train_inputs
    lengths = (rows > 0).sum(axis=1)
    assert (lengths.min() < 150, lengths.max() > 450) == (True, True)
    assert all(not row[length:].any() for row, length in zip(rows, lengths, strict=True))


def test_each_class_prefers_its_own_words():
    arrays = TEXTS.make()
    counts = np.stack(
        [np.bincount(arrays.train_inputs[arrays.train_labels == label].ravel(), minlength=5_000) for label in (0, 1)]
    )
    prefers = counts[1] > counts[0]
    votes = np.array([prefers[row[row > 2]].mean() for row in arrays.test_inputs])
    assert np.mean((votes > 0.5) == arrays.test_labels) > 0.95


def test_the_next_token_is_mostly_a_function_of_the_present_one():
    arrays = LANGUAGE.make()
    seen = np.zeros((64, 64))
    np.add.at(seen, (arrays.train_inputs.ravel(), arrays.train_labels.ravel()), 1)
    hits = seen.argmax(axis=1)[arrays.test_inputs.ravel()] == arrays.test_labels.ravel()
    assert 0.85 < hits.mean() < 0.95


def test_the_label_of_a_token_is_the_next_token():
    arrays = LANGUAGE.make()
    np.testing.assert_array_equal(arrays.train_inputs[:, 1:], arrays.train_labels[:, :-1])


def test_a_translation_is_a_function_of_the_words():
    arrays = PAIRS.make()
    known = {}
    for row, label in zip(arrays.train_inputs, arrays.train_labels, strict=True):
        for word, said in zip(row[:15], label, strict=False):
            if word:
                assert known.setdefault(int(word), int(said)) == said


def test_the_decoder_reads_the_start_and_its_previous_outputs():
    arrays = PAIRS.make()
    given, said = arrays.train_inputs[:, 20:], arrays.train_labels
    assert set(given[:, 0]) == {1}
    is_later = said[:, 1:] > 0
    np.testing.assert_array_equal(given[:, 1:][is_later], said[:, :-1][is_later])


@pytest.mark.parametrize(
    "kind",
    [
        {"task": "flags", "vocabulary": 10},
        {"task": "tokens"},
        {"task": "tokens", "vocabulary": 10},
        {"task": "tokens", "vocabulary": 10, "label_shape": (5,)},
        {"vocabulary": 4},
    ],
    ids=str,
)
def test_a_kind_without_a_rule_is_refused(kind):
    with pytest.raises(DataError):
        synthetic((4,), 3, **kind).make()
