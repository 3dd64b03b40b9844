"""Archives: members of the source are unpacked; damaged or malicious archives are refused."""

import stat
import tarfile
import zipfile
from dataclasses import replace

import pytest

from pytest_dlbench.data import Source
from pytest_dlbench.data.extracting import unpack
from pytest_dlbench.data.watching import UNWATCHED
from pytest_dlbench.errors import DataError
from tests.doubles import official_files as official

SOURCE = Source(name="some", about="", page="", contents=("in/*.txt",))


@pytest.fixture
def unpacked(tmp_path):
    """Unpack an archive with this content and return the resulting paths."""

    def unpacked_of(content, name="some.tar.gz", source=SOURCE):
        archive = official.write(tmp_path, {name: content}) / name
        unpack(archive, tmp_path / "out", source, UNWATCHED)
        return sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*"))

    return unpacked_of


def link(kind, name="in/link.txt", target="/etc/passwd"):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_members_of_the_source_are_unpacked(unpacked):
    assert unpacked(official.tar({"in/a.txt": b"a", "in/b.txt": b"b"})) == ["in/a.txt", "in/b.txt"]


def test_other_members_are_not_unpacked(unpacked):
    assert unpacked(official.tar({"in/a.txt": b"a", "in/b.exe": b"b", "out.txt": b"c"})) == ["in/a.txt"]


def test_a_leading_dot_is_not_a_folder(unpacked):
    assert unpacked(official.tar({"./in/a.txt": b"a"})) == ["in/a.txt"]


def test_zip_archives_are_unpacked(unpacked):
    assert unpacked(official.zipped({"in/a.txt": b"a", "in/": b""}), name="some.zip") == ["in/a.txt"]


def test_uncompressed_tar_archives_are_unpacked(unpacked):
    assert unpacked(official.tar({"in/a.txt": b"a"}, mode="w"), name="some.tar") == ["in/a.txt"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_a_link_or_a_device_is_refused(unpacked, kind):
    with pytest.raises(DataError, match=r"is refused: its member 'in/link\.txt' is a link or a device"):
        unpacked(official.tar({}, link(kind)))


def test_a_link_is_refused_even_if_it_is_not_part_of_the_source(unpacked):
    with pytest.raises(DataError, match="is a link or a device"):
        unpacked(official.tar({"in/a.txt": b"a"}, link(tarfile.SYMTYPE, name="elsewhere")))


def test_a_link_in_a_zip_archive_is_refused(unpacked, tmp_path):
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        member = zipfile.ZipInfo("in/link.txt")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(DataError, match="is a link or a device"):
        unpacked((tmp_path / "some.zip").read_bytes(), name="some.zip")


@pytest.mark.parametrize(
    "name", ["../in/a.txt", "in/../../a.txt", "/in/a.txt", "in\\..\\a.txt", "C:/in/a.txt", "in/a\n.txt"]
)
@pytest.mark.parametrize("make", [official.tar, official.zipped], ids=["tar", "zip"])
def test_a_path_that_may_lead_outside_is_refused(unpacked, make, name):
    with pytest.raises(DataError, match="may be outside the folder"):
        unpacked(make({name: b"a"}), name="some.zip" if make is official.zipped else "some.tar.gz")


def test_an_archive_that_unpacks_to_too_much_is_refused(unpacked):
    bomb = official.tar({"in/a.txt": bytes(5 * 2**20)})
    with pytest.raises(DataError, match="it unpacks to more than 1,048,576 bytes"):
        unpacked(bomb, source=replace(SOURCE, largest_bytes=2**20))


def test_two_members_with_the_same_name_are_refused(unpacked, tmp_path):
    with tarfile.open(tmp_path / "twice.tar", "w") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("in/a.txt"))
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpacked((tmp_path / "twice.tar").read_bytes(), name="some.tar")


@pytest.mark.parametrize("name", ["some.tar.gz", "some.tar", "a.txt.gz"])
def test_a_file_that_is_not_an_archive_is_refused(unpacked, name):
    with pytest.raises(DataError, match=r"cannot be unpacked: .*\n  it is damaged or truncated; get it again$"):
        unpacked(b"no archive at all", name=name, source=replace(SOURCE, contents=("*.txt",)))


@pytest.mark.parametrize("name", ["some.tar.gz", "in.txt.gz"])
def test_a_truncated_archive_is_refused(unpacked, name):
    files = {"in/a.txt": official.pixels(200_000).tobytes()}
    content = official.tar(files) if "tar" in name else official.packed(files)["in/a.txt.gz"]
    source = replace(SOURCE, contents=("in/*.txt", "in.txt"))
    with pytest.raises(DataError, match="it is damaged or truncated"):
        unpacked(content[: len(content) // 2], name=name, source=source)


def test_a_zip_archive_whose_content_was_changed_is_refused(unpacked):
    content = bytearray(official.zipped({"in/a.txt": official.pixels(200_000).tobytes()}))
    content[1000] ^= 255
    with pytest.raises(DataError, match="it is damaged or truncated"):
        unpacked(bytes(content), name="some.zip")


def test_nothing_is_written_outside_the_folder(unpacked, tmp_path):
    with pytest.raises(DataError):
        unpacked(official.tar({"../escaped.txt": b"a"}))
    assert not list(tmp_path.rglob("escaped.txt"))
