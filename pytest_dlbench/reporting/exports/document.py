"""Our own format: everything recorded, versioned, described by ``schema.json``."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata, resources

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
    """The JSON schema of a document, generated from the types of the records."""
    made = msgspec.json.schema(Document)
    shape = made["$defs"]["Document"]
    shape["properties"]["format"]["const"] = DOCUMENT_FORMAT
    shape["properties"]["checksum"] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    shape["required"] = ["checksum", "format", *shape["required"]]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A session of pytest-dlbench"}
    return json.dumps({**head, **made}, indent=2, sort_keys=True).encode() + b"\n"


def published_schema() -> bytes:
    """The schema as shipped, for programs that validate documents."""
    return resources.files(__package__).joinpath("schema.json").read_bytes()
