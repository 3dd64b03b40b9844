"""Names, versions and archives that somebody made up to do harm: each is refused, and has no effect."""

import io
import tarfile
import zipfile

import pytest

from pytest_dlbench.data import Source
from pytest_dlbench.data.extracting import unpack
from pytest_dlbench.data.watching import UNWATCHED
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.specification import specified
from pytest_dlbench.errors import DataError, DlbenchError
from pytest_dlbench.planning.registry import KNOWN
from tests.campaign.sessions import Suite

TEXTS = (
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "&& touch pwned",
    "| touch pwned",
    "--index-url=https://example.invalid",
    "-r/etc/passwd",
    "../../../etc/passwd",
    "/etc/passwd",
    "a\nb",
    "a\x00b",
    "\x1b[2J",
    "::error::x",
    "<script>alert(1)</script>",
    "%s%s%n",
    "{0.__class__}",
    "\u202egpj.exe",
    "x" * 5000,
    "2.1.3 ; touch pwned",
    "2.1.3 @ https://example.invalid/x.whl",
    "*",
    "",
)
OPTIONS = ("frameworks", "models", "datasets", "devices", "scale", "allocator", "tolerance", "ab")
MEMBERS = (
    "../in/a.txt",
    "in/../../a.txt",
    "/in/a.txt",
    "in\\..\\a.txt",
    "C:/in/a.txt",
    "in/a\n.txt",
    "in/\x1b[2J.txt",
    "~/../in/a.txt",
    "in/" + "../" * 50 + "a.txt",
)
KINDS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
SOURCE = Source(name="some", about="", page="", contents=("in/*.txt", "*.txt"), largest_bytes=2**20)


def effects(folder):
    """Files that a command has made."""
    return list(folder.rglob("pwned*"))


def test_versions(attempt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in TEXTS:
        for separator in ("==", "@"):
            if text == "/etc/passwd" and separator == "@":
                # A file that exists, and whose lines are refused only when an environment is built of it.
                continue
            with attempt(f"pytorch{separator}{text[:40]!r}"):
                with pytest.raises(DlbenchError):
                    specified(f"pytorch{separator}{text}", FRAMEWORKS, "here")
                assert not effects(tmp_path)


@pytest.mark.parametrize("axis", ["framework", "model", "dataset", "device"])
def test_names(attempt, axis):
    for text in TEXTS:
        with attempt(f"{axis} {text[:40]!r}"), pytest.raises(DlbenchError):
            KNOWN.find(axis, text, "here")


@pytest.mark.parametrize("option", OPTIONS)
def test_options(attempt, tmp_path, option):
    suite = Suite(tmp_path / "suite", tmp_path / "cache")
    # The operating system accepts no zero byte, and an empty value is none.
    for text in [text for text in TEXTS if text and "\x00" not in text][::4]:
        with attempt(f"--dlbench-{option}={text[:40]!r}"):
            status, output = suite.run(f"--dlbench-{option}={text}")
            assert status in (2, 4), output
            assert "INTERNALERROR" not in output
            assert "Traceback" not in output
            assert not effects(suite.folder)


def test_archive_members(attempt, tmp_path):
    for place, name in enumerate(MEMBERS):
        for suffix in ("tar", "zip"):
            with attempt(f"{suffix} with {name[:40]!r}"):
                _check_refused(tmp_path / f"{place}-{suffix}", f"some.{suffix}", _archive(suffix, name))


def test_archive_links_and_devices(attempt, tmp_path):
    for place, kind in enumerate(KINDS):
        with attempt(f"tar with a member of kind {kind!r}"):
            _check_refused(tmp_path / str(place), "some.tar", _archive("tar", "in/a.txt", kind))


def test_archives_that_are_none(attempt, tmp_path):
    bomb = _archive("zip", "in/a.txt", size=2**24)
    for place, content in enumerate((b"PK\x03\x04", b"\x1f\x8b" + bytes(100), b"x" * 10**5, bomb, bomb[:-30])):
        for suffix in ("tar", "tar.gz", "zip"):
            with attempt(f"{suffix} number {place}"):
                _check_refused(tmp_path / f"{place}-{suffix}", f"some.{suffix}", content)


def _archive(suffix, name, kind=tarfile.REGTYPE, size=1):
    content = io.BytesIO()
    if suffix == "zip":
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, bytes(size))
        return content.getvalue()
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    member.size = size if kind == tarfile.REGTYPE else 0
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(member, io.BytesIO(bytes(size)))
    return content.getvalue()


def _check_refused(folder, name, content):
    folder.mkdir()
    (folder / name).write_bytes(content)
    with pytest.raises(DataError):
        unpack(folder / name, folder / "out", SOURCE, UNWATCHED)
    outside = [path for path in folder.parent.rglob("a*.txt") if not path.is_relative_to(folder / "out")]
    assert not [path for path in outside if folder in path.parents]
