"""Importing local files: official archives, or what they unpack to. No network is needed."""

import shutil
from pathlib import Path

from pytest_dlbench.data import extracting, keeping
from pytest_dlbench.data.source import File, Source
from pytest_dlbench.data.watching import UNWATCHED, Watcher
from pytest_dlbench.errors import DataError

RECORDED = "no published checksums; size and content hash recorded at import"


def take(
    source: Source, path: Path, *, link: bool = False, unofficial: bool = False, watcher: Watcher = UNWATCHED
) -> keeping.Manifest:
    """Copy the files of a source from ``path`` into the cache, and return their manifest.

    ``path`` is an official file, a folder that contains the official files at any depth, or what they unpack to. With
    ``link`` a folder of unpacked files stays where it is. ``unofficial`` accepts official files with other checksums.
    Raises DataError if files are missing or wrong.
    """
    if not path.exists():
        raise DataError(
            f"{path} does not exist\n  name an official file of {source.name}, or a folder: {_expected(source)}"
        )
    with keeping.locked(source):
        official = _official(source, path)
        if official and not link:
            return _unpack(source, official, unofficial, watcher)
        base = _base(source, path)
        return _take_unpacked(source, base, link, _known_by(source, base, unofficial), watcher)


def _official(source: Source, path: Path) -> dict[File, Path]:
    """The paths of the official files; empty if any is missing."""
    found = {}
    for file in source.files:
        candidates = [path] if path.is_file() else sorted(path.rglob(file.name))
        named = [candidate for candidate in candidates if candidate.name == file.name and candidate.is_file()]
        if not named:
            return {}
        found[file] = named[0]
    return found


def _unpack(source: Source, official: dict[File, Path], unofficial: bool, watcher: Watcher) -> keeping.Manifest:
    known_by = tuple(
        keeping.check(file, path, source.package, is_enforced=not unofficial) for file, path in official.items()
    )

    def fill(folder: Path) -> None:
        for path in official.values():
            extracting.unpack(path, folder, source, watcher)

    return keeping.keep(source, fill, known_by, watcher)


def _base(source: Source, path: Path) -> Path:
    """The folder with the contents: the given one, or the only one inside it."""
    for base in (path, path.parent):
        if all(keeping.matches(source, base).values()):
            return base
    raise DataError(
        f"{path} does not contain the files of {source.name}\n  expected: {_expected(source)}"
        f"\n  found: {_found(source, path)}"
    )


def _known_by(source: Source, base: Path, unofficial: bool) -> tuple[str, ...]:
    """How unpacked files are known; some official files are themselves the contents, and have published checksums."""
    plain = [file for file in source.files if file.name in source.contents]
    checked = [keeping.check(file, base / file.name, source.package, is_enforced=not unofficial) for file in plain]
    return (*checked, *([RECORDED] if len(plain) < len(source.contents) else []))


def _take_unpacked(
    source: Source, base: Path, link: bool, known_by: tuple[str, ...], watcher: Watcher
) -> keeping.Manifest:
    found = sorted({path for paths in keeping.matches(source, base).values() for path in paths})

    def fill(folder: Path) -> None:
        if link:
            folder.symlink_to(base.resolve(), target_is_directory=True)
            return
        watcher.begin(f"{source.name}: copying", sum(path.stat().st_size for path in found))
        for path in found:
            place = folder / path.relative_to(base)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            watcher.advance(path.stat().st_size)

    return keeping.keep(source, fill, known_by, watcher)


def _found(source: Source, path: Path) -> str:
    """The expected files that exist; one of four shows that it is the right folder."""
    files = [file.name for file in source.files if path.is_dir() and any(path.rglob(file.name))]
    contents = [pattern for pattern, paths in keeping.matches(source, path).items() if paths]
    return ", ".join(files + contents) or "none of them"


def _expected(source: Source) -> str:
    contents = ", ".join(source.contents)
    if not source.files:
        return contents
    return f"{', '.join(file.name for file in source.files)}; or unpacked: {contents}"
