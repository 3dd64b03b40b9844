"""Importing local files: found, checked, copied or linked, verified later."""

import errno
from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS, SOURCES, keeping
from pytest_dlbench.data.cache import folder_of, is_available
from pytest_dlbench.data.importing import take
from pytest_dlbench.data.keeping import verify
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.errors import DataError
from tests.doubles import official_files as official

pytestmark = pytest.mark.usefixtures("users_cache")
MNIST = official.mnist()


@pytest.fixture
def packed_source():
    """MNIST, if these small files were the official ones."""
    return official.source_of(SOURCES["mnist"], official.packed(MNIST))


@pytest.fixture
def have(tmp_path):
    def have_files(files):
        return official.write(tmp_path / "have", files)

    return have_files


def stored(source):
    return {path.name: path.read_bytes() for path in folder_of(source).iterdir()}


def test_official_archives_are_unpacked(packed_source, have):
    take(packed_source, have(official.packed(MNIST)))
    assert stored(packed_source) == MNIST


def test_official_archives_are_found_in_folders_below(packed_source, have):
    take(packed_source, have({f"deep/down/{name}": content for name, content in official.packed(MNIST).items()}))
    assert stored(packed_source) == MNIST


def test_a_single_archive_may_be_given_directly(have):
    files = {f"cifar-100-binary/{name}.bin": bytes(3074) for name in ("train", "test")}
    archive = official.tar(files)
    source = official.source_of(SOURCES["cifar100"], {"cifar-100-binary.tar.gz": archive})
    take(source, have({"cifar-100-binary.tar.gz": archive}) / "cifar-100-binary.tar.gz")
    assert {path.name for path in folder_of(source).rglob("*.bin")} == {"train.bin", "test.bin"}


def test_unpacked_files_are_copied(have):
    take(SOURCES["mnist"], have(MNIST))
    assert stored(SOURCES["mnist"]) == MNIST


@pytest.mark.parametrize("inside", ["", "cifar-100-binary"])
def test_the_unpacked_folder_or_its_parent_may_be_given(have, inside):
    folder = have({f"cifar-100-binary/{name}.bin": bytes(3074) for name in ("train", "test")})
    take(SOURCES["cifar100"], folder / inside)
    assert (folder_of(SOURCES["cifar100"]) / "cifar-100-binary" / "train.bin").is_file()


def test_unrelated_files_are_not_copied(have):
    take(SOURCES["mnist"], have({**MNIST, "private.txt": b"mine"}))
    assert stored(SOURCES["mnist"]) == MNIST


def test_linked_files_stay_where_they_are(have):
    folder = have(MNIST)
    take(SOURCES["mnist"], folder, link=True)
    assert folder_of(SOURCES["mnist"]).resolve() == folder.resolve()


def test_replacing_linked_files_leaves_them_alone(have):
    folder = have(MNIST)
    take(SOURCES["mnist"], folder, link=True)
    take(SOURCES["mnist"], folder)
    assert not folder_of(SOURCES["mnist"]).is_symlink()
    assert sorted(path.name for path in folder.iterdir()) == sorted(MNIST)


def test_an_archive_with_a_wrong_checksum_is_refused_with_advice(have):
    with pytest.raises(DataError, match=r"is not the official train-images(.|\n)*get it again, or use --unofficial"):
        take(SOURCES["mnist"], have(official.packed(MNIST)))
    assert not is_available(SOURCES["mnist"])


def test_an_archive_with_a_wrong_checksum_can_be_accepted(have):
    manifest = take(SOURCES["mnist"], have(official.packed(MNIST)), unofficial=True)
    assert all("not the official file, accepted by --unofficial" in line for line in manifest.known_by)


def test_unpacked_files_are_recorded_without_published_checksums(have):
    manifest = take(SOURCES["mnist"], have(MNIST))
    assert manifest.known_by == ("no published checksums; size and content hash recorded at import",)


def test_incomplete_files_are_refused_with_the_expected_ones(have):
    (one, *others) = MNIST
    with pytest.raises(DataError, match=rf"does not contain the files of mnist\n  expected: .*{one}"):
        take(SOURCES["mnist"], have({name: MNIST[name] for name in others}))


def test_the_error_for_incomplete_files_lists_those_found(have, tmp_path):
    one, *_ = official.packed(MNIST)
    with pytest.raises(DataError, match=rf"\n  expected: .*\n  found: {one}$"):
        take(SOURCES["mnist"], have({one: b"whatever"}))
    with pytest.raises(DataError, match=r"\n  found: none of them$"):
        take(SOURCES["mnist"], official.write(tmp_path / "other", {"readme.txt": b""}))


def test_the_error_for_a_missing_path_lists_the_expected_files(tmp_path):
    with pytest.raises(DataError, match=r"does not exist\n  name an official file of mnist, or a folder: train-images"):
        take(SOURCES["mnist"], tmp_path / "nowhere")


def test_a_failed_import_keeps_the_files_of_an_earlier_one(have, tmp_path):
    take(SOURCES["mnist"], have(MNIST))
    with pytest.raises(DataError):
        take(SOURCES["mnist"], official.write(tmp_path / "other", official.packed(MNIST)))
    assert stored(SOURCES["mnist"]) == MNIST


def test_intact_files_are_verified_without_a_problem(have):
    take(SOURCES["mnist"], have(MNIST))
    assert verify(SOURCES["mnist"])[1] == []


def lose(path):
    path.unlink()


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def change(path):
    path.write_bytes(path.read_bytes()[::-1])


@pytest.mark.parametrize(
    ("damage", "problem"), [(lose, "is missing"), (cut, "bytes instead of"), (change, "has different content")]
)
def test_a_damaged_file_is_found_and_named(have, damage, problem):
    take(SOURCES["mnist"], have(MNIST))
    damage(folder_of(SOURCES["mnist"]) / "t10k-labels-idx1-ubyte")
    (reported,) = verify(SOURCES["mnist"])[1]
    assert problem in reported
    assert "t10k-labels-idx1-ubyte" in reported


def test_the_error_for_a_damaged_manifest_says_how_to_get_the_files_again(have, users_cache):
    take(SOURCES["mnist"], have(MNIST))
    (users_cache / "files" / "mnist.json").write_bytes(b"{")
    with pytest.raises(DataError, match=r"is damaged: (.|\n)*dlbench data fetch mnist"):
        verify(SOURCES["mnist"])


@pytest.mark.parametrize("way", ["link", "file"])
def test_official_files_that_need_no_unpacking_are_checked_however_they_are_imported(have, way):
    folder = have(dict.fromkeys(SOURCES["ptb"].contents, b"wrong"))
    path, link = (folder, True) if way == "link" else (folder / "ptb.train.txt", False)
    with pytest.raises(DataError, match=r"is not the official ptb\.train\.txt: its md5"):
        take(SOURCES["ptb"], path, link=link)
    assert not is_available(SOURCES["ptb"])
    manifest = take(SOURCES["ptb"], path, link=link, unofficial=True)
    assert [line.partition(",")[0] for line in manifest.known_by] == [
        f"{name}: not the official file" for name in SOURCES["ptb"].contents
    ]


def test_official_files_that_need_no_unpacking_can_be_linked(have):
    files = {name: name.encode() for name in SOURCES["ptb"].contents}
    source = official.source_of(SOURCES["ptb"], files)
    folder = have(files)
    manifest = take(source, folder, link=True)
    assert folder_of(source).resolve() == folder.resolve()
    assert all(line.endswith("as published") for line in manifest.known_by)


@pytest.fixture
def imported(tmp_path):
    """Import files of MNIST in which every label is this one, and return the prepared data and its mapped labels."""
    small = replace(DATASETS["mnist"], train_examples=20, test_examples=10)

    def take_and_prepare(label):
        files = {name: official.idx(np.full(size, label)) for name, size in (("train", 20), ("t10k", 10))}
        labelled = {f"{name}-labels-idx1-ubyte": content for name, content in files.items()}
        take(SOURCES["mnist"], official.write(tmp_path / f"have{label}", {**MNIST, **labelled}))
        prepared = prepare(small)
        return prepared, np.load(prepared.part("train_labels"), mmap_mode="r")

    return take_and_prepare


def test_other_files_are_prepared_again_and_mapped_arrays_stay(imported):
    _, first = imported(1)
    _, second = imported(2)
    assert set(second) == {2}
    assert set(first) == {1}


def test_the_same_files_are_not_prepared_again(imported):
    prepared, _ = imported(1)
    before = prepared.part("train_labels").stat().st_ino
    assert imported(1)[0].part("train_labels").stat().st_ino == before


def test_arrays_of_another_source_stay(imported, have):
    prepared, _ = imported(1)
    take(SOURCES["manythings"], have({"spa-eng/spa.txt": b"Go.\tVe.\n"}))
    assert prepared.folder.is_dir()


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/given/images"),
            "mnist: /given/images cannot be read: Perm",
        ),
        # A copy to a full disk names both files.
        (OSError(errno.ENOSPC, "No space left on device", "/given/images"), "mnist cannot be stored in"),
    ],
)
def test_a_given_file_that_cannot_be_read_is_no_problem_of_the_cache(error, problem):
    with pytest.raises(DataError, match=problem), keeping.locked(SOURCES["mnist"]):
        raise error
