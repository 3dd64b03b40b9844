"""Preparing data sets that were damaged or cannot be created."""

import os
from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS, SOURCES, preparation
from pytest_dlbench.data.dataset import Rows
from pytest_dlbench.data.importing import take
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.errors import DataError
from tests.doubles import official_files as official


def change_a_bit(folder):
    file = folder / "train_inputs.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def truncate_a_part(folder):
    file = folder / "test_inputs.npy"
    file.write_bytes(file.read_bytes()[:-4])


def lose_a_part(folder):
    (folder / "test_labels.npy").unlink()


def lose_the_manifest(folder):
    (folder / "hashes.json").unlink()


def write_a_manifest(content):
    def damage(folder):
        (folder / "hashes.json").write_bytes(content)

    return damage


every_damage = pytest.mark.parametrize(
    "damage",
    [
        pytest.param(change_a_bit, id="a bit changed"),
        pytest.param(truncate_a_part, id="truncated part"),
        pytest.param(lose_a_part, id="part missing"),
        pytest.param(lose_the_manifest, id="manifest missing"),
        pytest.param(write_a_manifest(b""), id="manifest empty"),
        pytest.param(write_a_manifest(b"[1, 2]"), id="manifest of another form"),
        pytest.param(write_a_manifest(b"{}"), id="manifest of no parts"),
        pytest.param(write_a_manifest(b'{"train_inputs": "\xff"}'), id="manifest not in UTF-8"),
    ],
)


def test_the_error_for_wrong_files_says_how_to_get_them_again(users_cache, tmp_path):
    cut = {name: content[:-1] for name, content in official.mnist().items()}
    take(SOURCES["mnist"], official.write(tmp_path / "have", cut))
    message = "it is truncated, or not MNIST's\n  to get mnist again: dlbench data fetch mnist --again"
    with pytest.raises(DataError, match=message):
        prepare(DATASETS["mnist"])


@every_damage
def test_a_damaged_data_set_is_created_again(root, counted, damage):
    damage(prepare(counted.dataset(), root).folder)
    prepare.cache_clear()
    prepare(counted.dataset(), root)
    assert counted.times == 2


@every_damage
def test_a_recreated_data_set_has_the_same_digest(root, counted, damage):
    first = prepare(counted.dataset(), root)
    damage(first.folder)
    prepare.cache_clear()
    assert prepare(counted.dataset(), root).digest == first.digest


@every_damage
def test_a_recreated_data_set_can_be_read(root, counted, damage):
    damage(prepare(counted.dataset(), root).folder)
    prepare.cache_clear()
    images = np.load(prepare(counted.dataset(), root).part("train_inputs"))
    np.testing.assert_array_equal(images, counted.arrays().train_inputs)


def fails(error):
    def make():
        raise error

    return make


def gives_objects(arrays):
    objects = np.full(arrays.test_inputs.shape, object())
    return lambda: replace(arrays, test_inputs=objects)


def leftovers(root):
    return [path.name for path in root.iterdir() if path.suffix != ".lock"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_during_creation_leaves_no_files(root, counted, error):
    with pytest.raises(error):
        prepare(replace(counted.dataset(), make=fails(error)), root)
    assert leftovers(root) == []


def test_an_error_during_writing_leaves_no_files(root, counted):
    unwritable = replace(counted.dataset(), make=gives_objects(counted.arrays()))
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        prepare(unwritable, root)
    assert leftovers(root) == []


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ({"shape": (1, 4, 5)}, "declared as .*4, 5.*, created as"),
        ({"train_examples": 9}, "9"),
        ({"classes": 1}, "labels"),
    ],
)
def test_created_arrays_must_match_the_declaration(root, counted, declared, reason):
    with pytest.raises(DataError, match=reason):
        prepare(replace(counted.dataset(), **declared), root)
    assert leftovers(root) == []


def test_an_error_is_not_remembered(root, counted):
    with pytest.raises(OSError, match="not today"):
        prepare(replace(counted.dataset(), make=fails(OSError("not today"))), root)
    assert prepare(counted.dataset(), root).part("train_inputs").is_file()


@pytest.mark.parametrize("rows", [7, 9])
def test_pieces_with_another_number_of_rows_than_declared_are_refused(root, counted, rows):
    pieces = Rows(shape=(8, 1, 4, 4), pieces=lambda: iter([np.zeros((rows, 1, 4, 4), dtype=np.float32)]))
    dataset = replace(counted.dataset(), make=lambda: replace(counted.arrays(), train_inputs=pieces))
    with pytest.raises(DataError, match=f"train_inputs should have 8 rows, but has {rows}"):
        prepare(dataset, root)
    assert leftovers(root) == []


@pytest.fixture
def all_are_large(monkeypatch):
    monkeypatch.setattr(preparation, "LARGE_BYTES", 0)


def test_a_large_file_is_trusted_by_its_size_and_modification_time(root, counted, all_are_large):
    file = prepare(counted.dataset(), root).part("train_inputs")
    before = file.stat()
    change_a_bit(file.parent)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    prepare.cache_clear()
    prepare(counted.dataset(), root)
    assert counted.times == 1


@pytest.mark.parametrize("damage", [change_a_bit, truncate_a_part, lose_a_part])
def test_a_large_file_that_was_touched_is_hashed(root, counted, all_are_large, damage):
    folder = prepare(counted.dataset(), root).folder
    damage(folder)
    for file in folder.iterdir():
        os.utime(file, ns=(1, 1))
    prepare.cache_clear()
    prepare(counted.dataset(), root)
    assert counted.times == 2
