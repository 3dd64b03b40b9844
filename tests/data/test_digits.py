"""The embedded digits: the fixed split, and how 8×8 scans become MNIST's and CIFAR's shapes."""

import sys
from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_digits

from pytest_dlbench.data import DATASETS, digits
from pytest_dlbench.data.digits import held_out_index
from pytest_dlbench.data.preparation import prepare

every_dataset = pytest.mark.parametrize("name", ["digits", "digits28", "digits32"])


@pytest.fixture(scope="module")
def scans():
    return load_digits()


@pytest.fixture(scope="module")
def made():
    return {dataset.name: dataset.make() for dataset in digits.DATASETS}


@pytest.fixture(scope="module")
def is_test():
    chosen = np.zeros(1797, dtype=bool)
    chosen[held_out_index()] = True
    return chosen


def test_the_digits_come_in_three_shapes():
    assert {dataset.name: dataset.shape for dataset in digits.DATASETS} == {
        "digits": (1, 8, 8),
        "digits28": (1, 28, 28),
        "digits32": (3, 32, 32),
    }


@every_dataset
def test_1437_images_train_and_360_test(made, name):
    assert (len(made[name].train_inputs), len(made[name].test_inputs)) == (1437, 360)


@every_dataset
def test_a_data_set_has_the_examples_that_it_declares(made, name):
    declared = DATASETS[name].train_examples, DATASETS[name].test_examples
    assert declared == (len(made[name].train_labels), len(made[name].test_labels))


@every_dataset
def test_images_have_the_shape_that_the_data_set_declares(made, name):
    assert {made[name].train_inputs.shape[1:], made[name].test_inputs.shape[1:]} == {DATASETS[name].shape}


@every_dataset
def test_images_are_float32_from_0_to_1(made, name):
    images = made[name].train_inputs
    assert (images.dtype, images.min(), images.max()) == (np.float32, 0, 1)


@every_dataset
def test_labels_are_int64_of_all_ten_digits(made, name):
    labels = made[name].train_labels
    assert (labels.dtype, np.unique(labels).tolist()) == (np.int64, list(range(10)))


def test_no_test_image_is_chosen_twice():
    assert len(set(held_out_index().tolist())) == 360


def test_every_scan_is_in_exactly_one_split(made, scans):
    both = np.concatenate([made["digits"].train_inputs, made["digits"].test_inputs]).reshape(1797, 64) * 16
    assert Counter(map(bytes, both.astype(np.uint8))) == Counter(map(bytes, scans.data.astype(np.uint8)))


def test_each_digit_has_its_share_of_the_test_images(made, scans):
    shares = np.bincount(scans.target) * 360 / 1797
    assert np.all(np.abs(np.bincount(made["digits"].test_labels) - shares) < 1)


@every_dataset
def test_labels_keep_the_order_of_the_scans(made, scans, is_test, name):
    np.testing.assert_array_equal(made[name].train_labels, scans.target[~is_test])
    np.testing.assert_array_equal(made[name].test_labels, scans.target[is_test])


def test_digits_are_the_scans_over_16(made, scans, is_test):
    np.testing.assert_array_equal(made["digits"].test_inputs[:, 0], scans.images[is_test] / 16)


def test_digits28_are_three_by_three_pixels_with_a_margin_of_two(made, scans, is_test):
    for image, scan in zip(made["digits28"].test_inputs[:20], scans.images[is_test], strict=False):
        np.testing.assert_array_equal(image[0], np.pad(np.kron(scan / 16, np.ones((3, 3))), 2))


def test_digits32_are_four_by_four_pixels(made, scans, is_test):
    for image, scan in zip(made["digits32"].train_inputs[:20], scans.images[~is_test], strict=False):
        np.testing.assert_array_equal(image[0], np.kron(scan / 16, np.ones((4, 4))))


def test_digits32_have_three_equal_channels(made):
    images = made["digits32"].train_inputs
    assert np.array_equal(images[:, 0], images[:, 1])
    assert np.array_equal(images[:, 0], images[:, 2])


def test_the_digits_need_no_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)  # how Python itself marks what cannot be imported
    assert len(DATASETS["digits"].make().train_labels) == 1437


@pytest.mark.parametrize(("name", "digest"), [("digits28", "f0f4ab4502e2e238"), ("digits32", "ca21e73f5ef39f6a")])
def test_the_arrays_are_those_of_older_records(tmp_path, monkeypatch, name, digest):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert prepare(DATASETS[name]).digest == digest
