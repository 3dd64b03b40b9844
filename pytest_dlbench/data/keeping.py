"""Storing the files of a source in the cache: complete or not at all, with a manifest."""

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock
import msgspec

from pytest_dlbench.data import preparation
from pytest_dlbench.data.cache import files_root, folder_of, manifest_path
from pytest_dlbench.data.source import File, Package, Source
from pytest_dlbench.data.watching import UNWATCHED, Watcher
from pytest_dlbench.errors import DataError, FileFormatError
from pytest_dlbench.records import codec

PIECE_BYTES = 2**20
# Whatever file is named with them, the disk of the cache is full, or cannot be written.
OF_THE_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One file as it was when it was stored in the cache."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The stored files, and how they were identified: one line for each official file, or one for all."""

    source: str
    known_by: tuple[str, ...]
    contents: Mapping[str, Content]


@contextmanager
def locked(source: Source) -> Iterator[None]:
    """Let only one process at a time store files of a source; raises DataError if a file cannot be read or written."""
    try:
        files_root().mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(files_root() / f"{source.name}.lock"):
            yield
    except OSError as error:
        if _is_of_given_file(error):
            raise DataError(f"{source.name}: {error.filename} cannot be read: {error.strerror}") from error
        # A full disk does not say which file it was.
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
        raise DataError(
            f"{source.name} cannot be stored in {files_root()}: {reason}"
            "\n  free space there or make it writable, or name another cache: XDG_CACHE_HOME=FOLDER"
        ) from error


def _is_of_given_file(error: OSError) -> bool:
    """Whether a file that the user named is the problem, and not the folder of the cache: a copy names both."""
    named = [Path(name) for name in (error.filename, error.filename2) if name]
    is_elsewhere = bool(named) and not any(path.is_relative_to(files_root()) for path in named)
    return is_elsewhere and error.errno not in OF_THE_DISK


def keep(source: Source, fill: Callable[[Path], None], known_by: tuple[str, ...], watcher: Watcher) -> Manifest:
    """Let ``fill`` create the folder of a source at the given path, and replace an older one with it.

    What was prepared from other files is deleted.

    Raises DataError if any of the source's contents is missing.
    """
    # Next to its final place, so that the rename stays on one file system.
    with tempfile.TemporaryDirectory(prefix=f"{source.name}.", dir=files_root()) as unfinished:
        folder = Path(unfinished) / "files"
        fill(folder)
        manifest = Manifest(source=source.name, known_by=known_by, contents=_contents(source, folder, watcher))
        are_same = _recorded(source) == manifest.contents
        discard(source)
        folder.rename(files_root() / source.name)
    if not are_same:
        # Before the manifest, without which nothing is prepared from these files.
        preparation.forget(source)
    manifest_path(source).write_bytes(msgspec.json.encode(manifest))
    return manifest


def discard(source: Source) -> None:
    """Delete the files of a source, if there are any; linked files elsewhere are kept."""
    manifest_path(source).unlink(missing_ok=True)
    folder = files_root() / source.name
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def matches(source: Source, folder: Path) -> dict[str, list[Path]]:
    """The files of a folder, by the pattern in the source's contents that they match."""
    return {pattern: sorted(path for path in folder.glob(pattern) if path.is_file()) for pattern in source.contents}


def _contents(source: Source, folder: Path, watcher: Watcher) -> dict[str, Content]:
    found = matches(source, folder)
    if lacking := [pattern for pattern, paths in found.items() if not paths]:
        raise DataError(f"{source.name} is incomplete: there is no {', no '.join(lacking)}")
    paths = sorted({path for paths in found.values() for path in paths})
    watcher.begin(f"{source.name}: hashing", sum(path.stat().st_size for path in paths))
    return {
        path.relative_to(folder).as_posix(): Content(
            size_bytes=path.stat().st_size, sha256=digest(path, "sha256", watcher)
        )
        for path in paths
    }


def digest(path: Path, algorithm: str, watcher: Watcher = UNWATCHED) -> str:
    """The hash of a file's content, in hexadecimal."""
    hashing = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            hashing.update(piece)
            watcher.advance(len(piece))
    return hashing.hexdigest()


def check(file: File, path: Path, package: Package | None = None, *, is_enforced: bool = True) -> str:
    """How an official file was identified, in one line; raises DataError if its checksum is wrong."""
    algorithm, _, expected = (file.checksum or "sha256:").partition(":")
    found = digest(path, algorithm)
    if not expected:
        return f"{file.name}: no published checksum; size and content hash recorded ({algorithm} {found})"
    if found == expected:
        return f"{file.name}: {algorithm} {found}, as published"
    if package and _is_packaged(package, file, path):
        return f"{file.name}: {dict(package.checksums)[file.name].replace(':', ' ')}, as in the package {package.name}"
    if is_enforced:
        raise DataError(
            f"{path} is not the official {file.name}: its {algorithm} is {found}, not {expected}\n"
            "  it may be damaged or truncated; get it again, or use --unofficial to accept this file"
        )
    return f"{file.name}: not the official file, accepted by --unofficial ({algorithm} {found})"


def _is_packaged(package: Package, file: File, path: Path) -> bool:
    """Whether a file is as the package has it."""
    algorithm, _, expected = dict(package.checksums).get(file.name, "").partition(":")
    return bool(expected) and digest(path, algorithm) == expected


def verify(source: Source, watcher: Watcher = UNWATCHED) -> tuple[Manifest, list[str]]:
    """The manifest of a source's files, and their deviations from it; raises DataMissingError."""
    folder = folder_of(source)
    manifest = _read(source)
    watcher.begin(f"{source.name}: verifying", sum(content.size_bytes for content in manifest.contents.values()))
    problems = []
    for name, content in manifest.contents.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path} is missing")
        elif path.stat().st_size != content.size_bytes:
            problems.append(f"{path} has {path.stat().st_size} bytes instead of {content.size_bytes}")
        elif digest(path, "sha256", watcher) != content.sha256:
            problems.append(f"{path} has different content")
    return manifest, problems


def _recorded(source: Source) -> Mapping[str, Content]:
    """The files that were stored last; empty if that is not known."""
    try:
        return _read(source).contents
    except (OSError, DataError):
        return {}


def _read(source: Source) -> Manifest:
    path = manifest_path(source)
    try:
        return codec.decode(path.read_bytes(), Manifest, str(path))
    except FileFormatError as error:
        raise DataError(
            f"{path} is damaged: {str(error).removeprefix(f'{path}: ')}\n  to get the files again: {source.get_command}"
        ) from error
