"""Records as JSON text and back. Reading checks every type; an error names the path into the document."""

from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import FORMAT_VERSION

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Versioned:
    format: int = FORMAT_VERSION


def encode_line(record: Any) -> bytes:
    """One line of JSON, ending in a line feed."""
    return msgspec.json.encode(record, order="sorted") + b"\n"


def encode_file(record: Any) -> bytes:
    """A small, sorted, indented document, so that a difference between two of them can be read."""
    return msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=2) + b"\n"


def decode(text: bytes, kind: type[T], where: str) -> T:
    """The record in a JSON document; FileFormatError says where in the document it is wrong."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise FileFormatError(f"{where}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{where}: not complete JSON: {error}") from error


def decode_versioned(text: bytes, kind: type[T], where: str) -> T:
    """The same for a document with a ``format``, which is looked at first: another one may have any shape."""
    found = format_of(text, where)
    if found != FORMAT_VERSION:
        raise FileFormatError(f"{where}: format {found}; this version reads {FORMAT_VERSION} @ $.format")
    return decode(text, kind, where)


def format_of(text: bytes, where: str) -> int:
    """The ``format`` of a document, 1 where it has none."""
    return decode(text, _Versioned, where).format


def convert(value: Any, kind: type[T], where: str) -> T:
    """The same for a document that is parsed already."""
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        raise FileFormatError(f"{where}: {error}") from error


def builtins(record: Any) -> Any:
    """A record as plain dictionaries, lists, numbers and text."""
    return msgspec.to_builtins(record)
