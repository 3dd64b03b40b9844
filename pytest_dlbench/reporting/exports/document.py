"""Our own format: everything recorded, versioned, described by ``schema.json``."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata, resources
from inspect import cleandoc
from typing import Any

import msgspec

from pytest_dlbench.records import DOCUMENT_FORMAT, SkippedCell, codec
from pytest_dlbench.reporting import explain
from pytest_dlbench.storing.recorded import Document, Recorded


def write(recorded: Sequence[Recorded], skipped: Sequence[SkippedCell] = ()) -> bytes:
    """One document, indented, sorted after its checksum; its results and runs have their texts alongside the data."""
    document = Document(
        version=metadata.version("pytest-dlbench"),
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        cases=tuple(map(explain.with_texts, recorded)),
        left_out=tuple(skipped),
    )
    return codec.checked_file(document)


def schema() -> bytes:
    """The JSON schema of a document, generated from the types of the records: the same with msgspec 0.22 and 0.23."""
    made = _canonical(msgspec.json.schema(Document))
    shape = made["$defs"]["Document"]
    shape["properties"]["format"]["const"] = DOCUMENT_FORMAT
    shape["properties"]["checksum"] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    shape["required"] = ["checksum", "format", *shape["required"]]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A session of pytest-dlbench"}
    return json.dumps({**head, **made}, indent=2, sort_keys=True).encode() + b"\n"


def _canonical(schema: Any) -> Any:
    """The schema without what only msgspec 0.23 adds, empty defaults and names of keys, and the indents it removes."""
    if isinstance(schema, list):
        return [_canonical(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: one for name, one in schema.items() if name != "propertyNames" and (name, one) != ("default", {})}
    if isinstance(text := kept.get("description"), str):
        kept["description"] = cleandoc(text)
    return {name: _canonical(one) for name, one in kept.items()}


def published_schema() -> bytes:
    """The schema as shipped, for programs that validate documents."""
    return resources.files(__package__).joinpath("schema.json").read_bytes()
