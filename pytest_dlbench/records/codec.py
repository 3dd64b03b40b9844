"""Records to and from JSON. Reading checks every type; errors name the path in the document.

Journals and documents carry a checksum: the SHA-256 of their own bytes without it (docs/how-to/records.md).
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records.versions import FORMAT_VERSION

T = TypeVar("T")

# Ours have ten levels. Without a limit, whatever walks through a decoded tree would exhaust the stack.
DEEPEST = 100
TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
# A field at the end of a line, and a line of its own in a file.
IN_LINE = re.compile(rb',"checksum":"([0-9a-f]{64})"(?=\}\Z)')
IN_FILE = re.compile(rb'^  "checksum": "([0-9a-f]{64})",\n', re.MULTILINE)
# The first format with a checksum, which later ones must have.
FIRST_CHECKED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Versioned:
    format: int = FORMAT_VERSION


def encode_line(record: Any) -> bytes:
    """One line of JSON, with a line feed."""
    return msgspec.json.encode(record, order="sorted") + b"\n"


def encode_file(record: Any) -> bytes:
    """A sorted, indented document, so that diffs are readable."""
    return msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=2) + b"\n"


def checked_line(record: Any) -> bytes:
    """``encode_line`` with a checksum as the last field: the SHA-256 of the line without it, and without line feed."""
    line = encode_line(record).rstrip()
    return line[:-1] + b',"checksum":"' + _checksum(line) + b'"}\n'


def checked_file(record: Any) -> bytes:
    """``encode_file`` with a checksum as the second line: the SHA-256 of the file without this line."""
    text = encode_file(record)
    first, rest = text.split(b"\n", 1)
    return first + b'\n  "checksum": "' + _checksum(text) + b'",\n' + rest


def decode(text: bytes, kind: type[T], where: str) -> T:
    """The record in a JSON document; FileFormatError says where in the document the problem is."""
    _check_depth(text, where)
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise FileFormatError(f"{where}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{where}: not complete JSON: {error}") from error


def decode_versioned(text: bytes, kind: type[T], where: str, formats: Sequence[int] = (FORMAT_VERSION,)) -> T:
    """``decode`` for a document with a ``format``, which is checked first: other formats may have any shape.

    So is the checksum of a line or a file that has one, or should have one by its format.
    """
    found = format_of(text, where)
    has_checksum = _verify(text, where)
    if found not in formats:
        known = " and ".join(filter(None, (", ".join(map(str, formats[:-1])), str(formats[-1]))))
        raise FileFormatError(f"{where}: format {found}; this version reads {known} @ $.format")
    if found >= FIRST_CHECKED and not has_checksum:
        raise FileFormatError(f"{where}: there is no checksum, which format {found} must have @ $.checksum; {EDITED}")
    return decode(text, kind, where)


EDITED = "it was damaged, or edited or reformatted after it was written"


def format_of(text: bytes, where: str) -> int:
    """The ``format`` of a document, 1 if it has none."""
    return decode(text, _Versioned, where).format


def convert(value: Any, kind: type[T], where: str) -> T:
    """``decode`` for a document that is already parsed."""
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        raise FileFormatError(f"{where}: {error}") from error


def builtins(record: Any) -> Any:
    """A record as plain dictionaries, lists, numbers and strings."""
    return msgspec.to_builtins(record)


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _verify(text: bytes, where: str) -> bool:
    """Whether there is a checksum; raises FileFormatError for a wrong one."""
    found = IN_LINE.search(text) or IN_FILE.search(text)
    if found is None:
        return False
    if _checksum(text[: found.start()] + text[found.end() :]) != found[1]:
        raise FileFormatError(f"{where}: the checksum is that of other content @ $.checksum; {EDITED}")
    return True


def _check_depth(text: bytes, where: str) -> None:
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return
    depth = 0
    for token in TOKENS.finditer(text):
        depth += (token[0] in b"[{") - (token[0] in b"]}")
        if depth > DEEPEST:
            raise FileFormatError(f"{where}: nested more than {DEEPEST} levels deep @ byte {token.start() + 1}")
