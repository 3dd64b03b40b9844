"""Unpacking archives that may be damaged or malicious: regular files only, inside one folder, of bounded size."""

import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, cast

from pytest_dlbench.data.keeping import PIECE_BYTES
from pytest_dlbench.data.source import Source
from pytest_dlbench.data.watching import Watcher
from pytest_dlbench.errors import DataError

# ImageNet has 1.3 million files, and no other source nearly as many.
MOST_MEMBERS = 2_000_000
# The content of a member, or None for what is not a regular file.
Members = Iterator[tuple[str, IO[bytes] | None]]
DAMAGES = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
    NotImplementedError,
    # Two members with the same name, or one below another as if that were a folder.
    FileExistsError,
    NotADirectoryError,
)


def unpack(archive: Path, folder: Path, source: Source, watcher: Watcher) -> None:
    """Write the members of an archive that belong to the source's contents into ``folder``; copy a plain file.

    Raises DataError for a damaged archive, and for one with any member, wanted or not, that is a link or a device or
    would end up outside the folder: such an archive is not official.
    """
    watcher.begin(f"{source.name}: unpacking {archive.name}", None)
    target = _Target(archive, folder, source, watcher)
    try:
        for name, content in _members(archive):
            target.take(name, content)
    except DAMAGES as error:
        # Below its first line tarfile reports its attempt at each kind of compression.
        reason = str(error).partition("\n")[0].rstrip(":")
        raise DataError(
            f"{archive} cannot be unpacked: {reason}\n  it is damaged or truncated; get it again"
        ) from error


def _members(archive: Path) -> Members:
    if archive.suffix == ".zip":
        return _of_zip(archive)
    if archive.name.endswith((".tar", ".tar.gz", ".tgz")):
        return _of_tar(archive)
    if archive.suffix == ".gz":
        return _of_gzip(archive)
    return _of_plain(archive)


def _of_tar(archive: Path) -> Members:
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            if not (member.isreg() or member.isdir()):
                raise DataError(_refusal(archive, member.name, "is a link or a device"))
            yield member.name, tar.extractfile(member)


def _of_zip(archive: Path) -> Members:
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            # The upper half is the Unix mode, if the archive was created on Unix.
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise DataError(_refusal(archive, member.filename, "is a link or a device"))
            if member.flag_bits & 1:
                raise DataError(_refusal(archive, member.filename, "is encrypted"))
            if member.is_dir():
                yield member.filename, None
            else:
                with zipped.open(member) as content:
                    yield member.filename, content


def _of_gzip(archive: Path) -> Members:
    with gzip.open(archive) as content:
        yield archive.name.removesuffix(".gz"), cast("IO[bytes]", content)


def _of_plain(archive: Path) -> Members:
    with archive.open("rb") as content:
        yield archive.name, content


def _refusal(archive: Path, member: str, reason: str) -> str:
    return f"{archive} is refused: its member {member!r} {reason}\n  official archives have none; get it elsewhere"


class _Target:
    """The folder to unpack into, and the amount unpacked so far."""

    def __init__(self, archive: Path, folder: Path, source: Source, watcher: Watcher) -> None:
        self._archive, self._folder, self._source, self._watcher = archive, folder, source, watcher
        self._bytes = self._members = 0
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, name: str, content: IO[bytes] | None) -> None:
        """Check a member, and write it if it is one of the source's contents."""
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise DataError(f"{self._archive} is refused: more than {MOST_MEMBERS:,} members")
        path = self._inside(name)
        if content is None or not self._source.wants(path):
            return
        place = self._folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        # Never overwrite an earlier member.
        with place.open("xb") as file:
            while piece := content.read(PIECE_BYTES):
                self._count(len(piece))
                file.write(piece)

    def _inside(self, name: str) -> str:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not name.isprintable():
            raise DataError(_refusal(self._archive, name, "may be outside the folder"))
        return path.as_posix()

    def _count(self, size: int) -> None:
        self._bytes += size
        self._watcher.advance(size)
        if self._bytes > self._source.largest_bytes:
            limit = self._source.largest_bytes
            raise DataError(f"{self._archive} is refused: it unpacks to more than {limit:,} bytes")
