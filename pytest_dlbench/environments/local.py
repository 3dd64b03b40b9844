"""Requirements that name a file of this machine, whose content is part of an environment's identity, or a folder."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.markers import InvalidMarker, Marker

# pip's options that have no value. Those of other options are the next word.
FLAGS = ("--pre", "--no-index", "--prefer-binary", "--require-hashes")
ARCHIVES = (".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tar.xz", ".txz")
WHEEL = "build a wheel (pip wheel --no-deps --wheel-dir dist FOLDER) and name that file"
_NAMED = re.compile(r"[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\]\s*)?@\s*(\S+)")


def digests(requirements: Sequence[str]) -> tuple[str, ...]:
    """The hash of each local file that requirements name, empty for what is no readable file."""
    return tuple(_digest(path) for _, path in _local(requirements))


def problem(requirements: Sequence[str], python: str) -> str:
    """Why the content of a local path, for a Python such as "3.11", cannot be part of the identity; empty if it can."""
    wanted = ((text, path) for text, path in _local(requirements) if _applies(text, python))
    return next(filter(None, (_lack(text, path) for text, path in wanted)), "")


def parted(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Options, each with its value, and requirements."""
    options: list[str] = []
    lines: list[str] = []
    takes_value = False
    for word in words:
        if takes_value:
            options[-1] += f" {word}"
            takes_value = False
        elif word.startswith("-"):
            options.append(word)
            takes_value = "=" not in word and word not in FLAGS
        else:
            lines.append(word)
    return options, lines


def _local(requirements: Sequence[str]) -> Iterator[tuple[str, Path]]:
    for text in parted(requirements)[1]:
        if path := _path(text):
            yield text, path


def _path(requirement: str) -> Path | None:
    """The local path that a requirement names, relative to the current folder, as for pip; None for a name."""
    text = re.split(r"\s;|;\s", requirement, maxsplit=1)[0].strip()
    named = _NAMED.fullmatch(text)
    address = named[1] if named else text
    if address.startswith("file:"):
        return Path(unquote(urlsplit(address).path))
    if "://" in address or re.match(r"\w+\+", address):
        return None
    address = re.sub(r"\[[^\]]*\]$", "", address.partition(";")[0].strip())
    is_path = bool(named) or address.startswith(".") or os.sep in address or address.endswith(ARCHIVES)
    return Path(address) if is_path else None


def _applies(requirement: str, python: str) -> bool:
    _, _, marker = requirement.partition(";")
    try:
        return not marker or Marker(marker).evaluate({"python_version": python, "python_full_version": f"{python}.0"})
    except InvalidMarker:
        return True


def _lack(requirement: str, path: Path) -> str:
    if path.is_dir():
        return f"{requirement!r} is a folder, whose content may change; {WHEEL}"
    if not path.is_file():
        return f"{requirement!r}: there is no file {path.absolute()}; {WHEEL}"
    return "" if os.access(path, os.R_OK) else f"{requirement!r}: {path.absolute()} cannot be read; make it readable"


def _digest(path: Path) -> str:
    try:
        status = path.stat()
        return _hashed(path.absolute(), status.st_size, status.st_mtime_ns) if path.is_file() else ""
    except OSError:
        return ""


@lru_cache(maxsize=64)
def _hashed(path: Path, _size: int, _modified: int) -> str:
    """The hash of a file; of an unchanged one it is known."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
