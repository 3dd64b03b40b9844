"""Files that people already have: found, checked, copied or left where they are, verified later."""

import pytest

from pytest_dlbench.data import SOURCES
from pytest_dlbench.data.cache import folder_of, is_here
from pytest_dlbench.data.importing import take
from pytest_dlbench.data.keeping import verify
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


def test_a_single_archive_may_be_named_itself(have):
    files = {f"cifar-100-binary/{name}.bin": bytes(3074) for name in ("train", "test")}
    archive = official.tar(files)
    source = official.source_of(SOURCES["cifar100"], {"cifar-100-binary.tar.gz": archive})
    take(source, have({"cifar-100-binary.tar.gz": archive}) / "cifar-100-binary.tar.gz")
    assert {path.name for path in folder_of(source).rglob("*.bin")} == {"train.bin", "test.bin"}


def test_unpacked_files_are_copied(have):
    take(SOURCES["mnist"], have(MNIST))
    assert stored(SOURCES["mnist"]) == MNIST


@pytest.mark.parametrize("inside", ["", "cifar-100-binary"])
def test_the_folder_that_an_archive_unpacks_to_may_be_named_or_the_one_around_it(have, inside):
    folder = have({f"cifar-100-binary/{name}.bin": bytes(3074) for name in ("train", "test")})
    take(SOURCES["cifar100"], folder / inside)
    assert (folder_of(SOURCES["cifar100"]) / "cifar-100-binary" / "train.bin").is_file()


def test_files_that_do_not_belong_to_it_are_not_copied(have):
    take(SOURCES["mnist"], have({**MNIST, "private.txt": b"mine"}))
    assert stored(SOURCES["mnist"]) == MNIST


def test_linked_files_stay_where_they_are(have):
    folder = have(MNIST)
    take(SOURCES["mnist"], folder, link=True)
    assert folder_of(SOURCES["mnist"]).resolve() == folder.resolve()


def test_what_replaces_linked_files_leaves_them_alone(have):
    folder = have(MNIST)
    take(SOURCES["mnist"], folder, link=True)
    take(SOURCES["mnist"], folder)
    assert not folder_of(SOURCES["mnist"]).is_symlink()
    assert sorted(path.name for path in folder.iterdir()) == sorted(MNIST)


def test_an_archive_of_another_checksum_is_refused_with_what_to_do(have):
    with pytest.raises(DataError, match=r"is not the official train-images(.|\n)*get it again, or say --unofficial"):
        take(SOURCES["mnist"], have(official.packed(MNIST)))
    assert not is_here(SOURCES["mnist"])


def test_an_archive_of_another_checksum_can_be_meant(have):
    manifest = take(SOURCES["mnist"], have(official.packed(MNIST)), unofficial=True)
    assert all("not the official file, taken by --unofficial" in line for line in manifest.known_by)


def test_of_unpacked_files_it_is_said_that_nobody_publishes_checksums(have):
    manifest = take(SOURCES["mnist"], have(MNIST))
    assert manifest.known_by == ("nobody publishes checksums of these; size and content hash recorded at import",)


def test_files_that_lack_one_are_refused_with_what_is_wanted(have):
    (one, *others) = MNIST
    with pytest.raises(DataError, match=rf"does not hold the files of mnist\n  wanted: .*{one}"):
        take(SOURCES["mnist"], have({name: MNIST[name] for name in others}))


def test_of_files_that_are_not_all_there_it_is_told_which_were_found(have, tmp_path):
    one, *_ = official.packed(MNIST)
    with pytest.raises(DataError, match=rf"\n  wanted: .*\n  found: {one}$"):
        take(SOURCES["mnist"], have({one: b"whatever"}))
    with pytest.raises(DataError, match=r"\n  found: nothing of it$"):
        take(SOURCES["mnist"], official.write(tmp_path / "other", {"readme.txt": b""}))


def test_a_path_that_does_not_exist_is_told_with_what_is_wanted(tmp_path):
    with pytest.raises(DataError, match=r"does not exist\n  name an official file of mnist, or a folder: train-images"):
        take(SOURCES["mnist"], tmp_path / "nowhere")


def test_an_import_that_fails_leaves_the_files_of_an_earlier_one(have, tmp_path):
    take(SOURCES["mnist"], have(MNIST))
    with pytest.raises(DataError):
        take(SOURCES["mnist"], official.write(tmp_path / "other", official.packed(MNIST)))
    assert stored(SOURCES["mnist"]) == MNIST


def test_sound_files_are_verified_without_a_problem(have):
    take(SOURCES["mnist"], have(MNIST))
    assert verify(SOURCES["mnist"])[1] == []


def lose(path):
    path.unlink()


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def change(path):
    path.write_bytes(path.read_bytes()[::-1])


@pytest.mark.parametrize(
    ("damage", "problem"), [(lose, "is missing"), (cut, "bytes, it had"), (change, "has another content than it had")]
)
def test_a_damaged_file_is_found_and_named(have, damage, problem):
    take(SOURCES["mnist"], have(MNIST))
    damage(folder_of(SOURCES["mnist"]) / "t10k-labels-idx1-ubyte")
    (told,) = verify(SOURCES["mnist"])[1]
    assert problem in told
    assert "t10k-labels-idx1-ubyte" in told


def test_a_damaged_record_is_told_with_what_brings_the_files_again(have, users_cache):
    take(SOURCES["mnist"], have(MNIST))
    (users_cache / "files" / "mnist.json").write_bytes(b"{")
    with pytest.raises(DataError, match=r"is damaged: (.|\n)*dlbench data fetch mnist"):
        verify(SOURCES["mnist"])
