"""Data sets on disk: created once, as .npy that every framework can map, with a digest of their content."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data.dataset import PARTS, Rows
from pytest_dlbench.data.preparation import prepare


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_written_as_it_was_made(root, counted, part):
    file = prepare(counted.dataset(), root).part(part)
    np.testing.assert_array_equal(np.load(file), getattr(counted.arrays(), part))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_can_be_memory_mapped_without_pickle(root, counted, part):
    file = prepare(counted.dataset(), root).part(part)
    assert isinstance(np.load(file, mmap_mode="r", allow_pickle=False), np.memmap)


def test_the_folder_is_named_after_the_data_set_and_its_version(root, counted):
    assert prepare(counted.dataset(name="cats", version=3), root).folder == root / "cats-v3"


def test_without_a_root_the_data_are_in_the_users_cache(tmp_path, counted, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert prepare(counted.dataset()).folder == tmp_path / "pytest-dlbench" / "data" / "prepared" / "counted-v1"


def test_only_the_folder_and_its_lock_are_written(root, counted):
    prepare(counted.dataset(), root)
    assert [path.name for path in root.iterdir() if path.suffix != ".lock"] == ["counted-v1"]


def test_a_data_set_prepared_by_this_process_is_not_read_again(root, counted):
    dataset = counted.dataset()
    assert prepare(dataset, root) is prepare(dataset, root)


def test_a_data_set_on_disk_is_not_created_again(root, counted):
    prepare(counted.dataset(), root)
    prepare.cache_clear()
    prepare(counted.dataset(), root)
    assert counted.times == 1


def test_a_data_set_on_disk_keeps_its_digest(root, counted):
    first = prepare(counted.dataset(), root)
    prepare.cache_clear()
    assert prepare(counted.dataset(), root).digest == first.digest


def test_a_new_version_is_created(root, counted):
    prepare(counted.dataset(version=1), root)
    prepare(counted.dataset(version=2), root)
    assert counted.times == 2


def test_each_root_has_its_own_copy(root, counted):
    prepare(counted.dataset(), root / "one")
    prepare(counted.dataset(), root / "other")
    assert counted.times == 2


def test_the_digest_depends_on_the_content_not_on_the_name(root, counted):
    one, other = (prepare(counted.dataset(name=name), root) for name in ("one", "other"))
    assert one.digest == other.digest


@pytest.mark.parametrize("change", [{"brightness": 0.25}, {"label": 0}], ids=["images", "labels"])
def test_the_digest_changes_with_the_content(root, counted, change):
    before = prepare(counted.dataset(), root)
    after = prepare(counted.dataset(version=2, **change), root)
    assert before.digest != after.digest


def in_pieces(arrays, *sizes):
    """The same arrays, with training inputs in pieces of these sizes."""
    ends = np.cumsum(sizes)
    pieces = [arrays.train_inputs[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return replace(arrays, train_inputs=Rows(shape=arrays.train_inputs.shape, pieces=lambda: iter(pieces)))


def test_pieces_are_written_as_one_array(root, counted):
    whole = prepare(counted.dataset(), root)
    dataset = replace(counted.dataset(name="pieces"), make=lambda: in_pieces(counted.arrays(), 3, 3, 2))
    assert prepare(dataset, root).digest == whole.digest


def test_an_extra_file_is_stored_with_the_arrays(root, counted):
    dataset = replace(counted.dataset(), make=lambda: replace(counted.arrays(), extras={"words.txt": b"a"}))
    assert (prepare(dataset, root).folder / "words.txt").read_bytes() == b"a"


def test_the_digest_includes_extra_files(root, counted):
    plain = prepare(counted.dataset(), root)
    dataset = replace(counted.dataset(name="more"), make=lambda: replace(counted.arrays(), extras={"words.txt": b"a"}))
    assert prepare(dataset, root).digest != plain.digest
