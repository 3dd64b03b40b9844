"""MNIST, CIFAR and SVHN, from small files in their official formats."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.errors import DataError, DataMissingError
from tests.doubles import official_files as official

MNIST, CIFAR10, CIFAR100 = DATASETS["mnist"], DATASETS["cifar10"], DATASETS["cifar100"]


def cifar10(per_file=4):
    """Records of every official file: labels count up, pixels are random."""
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    return {
        f"cifar-10-batches-bin/{name}.bin": b"".join(
            bytes([(seed + row) % 10]) + official.pixels(3072, seed=10 * seed + row).tobytes()
            for row in range(per_file)
        )
        for seed, name in enumerate(names)
    }


def cifar100(train=6, test=3):
    return {
        f"cifar-100-binary/{name}.bin": b"".join(
            bytes([row % 20, 90 + row]) + official.pixels(3072, seed=row).tobytes() for row in range(count)
        )
        for name, count in (("train", train), ("test", test))
    }


def svhn(train="train", count=12):
    images, labels = official.pixels(count, 3, 32, 32), np.arange(count) % 10 + 1
    return {f"{train}_32x32.mat": official.mat(images, labels), "test_32x32.mat": official.mat(images[:5], labels[:5])}


def test_mnists_pixels_are_divided_by_255_and_nothing_else(prepared_of):
    arrays = prepared_of(MNIST, official.mnist(), examples=(20, 10))
    expected = official.pixels(20, 28, 28, seed=20)[:, None].astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(arrays.train_inputs, expected)


def test_mnists_labels_are_those_of_its_files(prepared_of):
    assert prepared_of(MNIST, official.mnist(), examples=(20, 10)).test_labels.tolist() == list(range(10))


def test_the_official_counts_are_declared(users_cache):
    counts = {name: (DATASETS[name].train_examples, DATASETS[name].test_examples) for name in DATASETS}
    assert counts["mnist"] == (60_000, 10_000)
    assert counts["cifar10"] == counts["cifar100"] == (50_000, 10_000)
    assert counts["svhn-train"] == (73_257, 26_032)
    assert counts["svhn-extra"] == (531_131, 26_032)
    assert counts["imdb500"] == counts["imdb150"] == (25_000, 25_000)
    assert counts["imagenet"] == (1_281_167, 50_000)


def test_files_with_another_number_of_examples_are_refused(prepared_of):
    with pytest.raises(DataError, match="declared as"):
        prepared_of(MNIST, official.mnist(), examples=(60_000, 10_000))


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        (
            "train-images-idx3-ubyte",
            official.idx(np.zeros(20)),
            "begins with 2049, IDX files of images begin with 2051",
        ),
        ("train-labels-idx1-ubyte", official.idx(np.zeros((20, 28, 28))), "begins with 2051, IDX files of labels"),
        ("train-images-idx3-ubyte", official.idx(np.zeros((20, 28, 28)))[:-1], "truncated"),
        ("train-images-idx3-ubyte", official.idx(np.zeros((20, 28, 28))) + b"x", "should have"),
        ("train-images-idx3-ubyte", official.idx(np.zeros((20, 28, 28)))[:7], "truncated"),
        ("train-labels-idx1-ubyte", b"", "begins with 0"),
        ("train-labels-idx1-ubyte", official.idx(np.full(20, 11)), "labels from 11 to 11, not 0 to 9"),
    ],
)
def test_a_file_that_does_not_match_its_name_is_refused(prepared_of, file, content, reason):
    with pytest.raises(DataError, match=reason):
        prepared_of(MNIST, {**official.mnist(), file: content}, examples=(20, 10))


def test_cifar_has_a_plane_for_each_colour(prepared_of):
    arrays = prepared_of(CIFAR10, cifar10(), examples=(20, 4))
    expected = official.pixels(3072, seed=21).reshape(3, 32, 32).astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(arrays.train_inputs[2 * 4 + 1], expected)


def test_cifar10_concatenates_its_five_files(prepared_of):
    labels = prepared_of(CIFAR10, cifar10(), examples=(20, 4)).train_labels
    assert labels.tolist() == [number + row for number in range(5) for row in range(4)]


def test_cifar100_has_the_fine_labels(prepared_of):
    arrays = prepared_of(CIFAR100, cifar100(), examples=(6, 3))
    assert arrays.train_labels.tolist() == [90, 91, 92, 93, 94, 95]


def test_cifar100s_pixels_follow_both_labels(prepared_of):
    arrays = prepared_of(CIFAR100, cifar100(), examples=(6, 3))
    expected = official.pixels(3072, seed=1).reshape(3, 32, 32).astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(arrays.test_inputs[1], expected)


def test_incomplete_cifar_records_are_refused(prepared_of):
    files = cifar10()
    files["cifar-10-batches-bin/test_batch.bin"] = files["cifar-10-batches-bin/test_batch.bin"][:-1]
    with pytest.raises(DataError, match=r"not a multiple of the record size 3073"):
        prepared_of(CIFAR10, files, examples=(20, 4))


def test_svhns_label_10_is_the_digit_0(prepared_of):
    arrays = prepared_of(DATASETS["svhn-train"], svhn(), examples=(12, 5))
    assert arrays.train_labels.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2]


def test_svhns_images_have_channels_first(prepared_of):
    arrays = prepared_of(DATASETS["svhn-train"], svhn(), examples=(12, 5))
    expected = official.pixels(12, 3, 32, 32).astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(arrays.train_inputs, expected)


def test_svhn_extra_trains_on_the_extra_split(prepared_of):
    arrays = prepared_of(DATASETS["svhn-extra"], svhn("extra", 15), examples=(15, 5))
    assert len(arrays.train_labels) == 15


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not a MATLAB file", "is not a readable MATLAB file"),
        (svhn()["train_32x32.mat"][:5000], "is not a readable MATLAB file|expected X"),
        (official.mat(official.pixels(3, 3, 32, 32), np.array([0, 1, 2])), "labels from 0 to 2, expected 1 to 10"),
        (official.mat(official.pixels(3, 3, 8, 8), np.array([1, 1, 2])), r"expected X of uint8 32×32×3×N"),
    ],
    ids=["not MATLAB", "truncated", "labels", "shape"],
)
def test_a_file_that_is_not_one_of_svhns_is_refused(prepared_of, content, reason):
    with pytest.raises(DataError, match=reason):
        prepared_of(DATASETS["svhn-train"], {**svhn(), "train_32x32.mat": content}, examples=(12, 5))


@pytest.mark.parametrize("dataset", [each for each in DATASETS.values() if each.source], ids=lambda each: each.name)
def test_a_missing_data_set_is_never_replaced_by_another(users_cache, dataset):
    with pytest.raises(DataMissingError, match=f"dlbench data import {dataset.source.name} PATH"):
        prepare(dataset)


def test_a_prepared_data_set_no_longer_needs_its_files(prepared_of, users_cache):
    prepared_of(MNIST, official.mnist(), examples=(20, 10))
    (users_cache / "files" / "mnist.json").unlink()
    prepare.cache_clear()
    assert prepare(replace(MNIST, train_examples=20, test_examples=10)).digest
