"""Records to and from JSON. Reading checks every type; errors name the path in the document."""

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
    """One line of JSON, with a line feed."""
    return msgspec.json.encode(record, order="sorted") + b"\n"


def encode_file(record: Any) -> bytes:
    """A sorted, indented document, so that diffs are readable."""
    return msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=2) + b"\n"


def decode(text: bytes, kind: type[T], where: str) -> T:
    """The record in a JSON document; FileFormatError says where in the document the problem is."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise FileFormatError(f"{where}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{where}: not complete JSON: {error}") from error


def decode_versioned(text: bytes, kind: type[T], where: str) -> T:
    """``decode`` for a document with a ``format``, which is checked first: other formats may have any shape."""
    found = format_of(text, where)
    if found != FORMAT_VERSION:
        raise FileFormatError(f"{where}: format {found}; this version reads {FORMAT_VERSION} @ $.format")
    return decode(text, kind, where)


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
