"""Our own format, and the schema shipped with it."""

import json
from dataclasses import replace

import jsonschema
import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import DOCUMENT_FORMAT, SkippedCell
from pytest_dlbench.reporting import explain
from pytest_dlbench.reporting.exports import document
from pytest_dlbench.storing.recorded import read, read_document

SKIPPED = [SkippedCell(id="pytorch-net-a", reason="net takes 28×28, a has 32×32")]


def written(*recorded):
    return json.loads(document.write(recorded, SKIPPED))


def check(content):
    jsonschema.validate(content, json.loads(document.published_schema()))


def test_the_shipped_schema_is_that_of_the_records():
    code = "import sys; from pytest_dlbench.reporting.exports import document as d; sys.stdout.buffer.write(d.schema())"
    advice = f"python -c '{code}' > pytest_dlbench/reporting/exports/schema.json"
    assert document.published_schema() == document.schema(), advice


def test_a_document_conforms_to_the_schema(sound, unfinished):
    check(written(sound, unfinished))


def test_a_document_has_its_format_version():
    assert written()["format"] == DOCUMENT_FORMAT


def test_a_document_has_texts_alongside_the_data(unfinished):
    (case,) = written(unfinished)["cases"]
    assert [reason["kind"] for reason in case["result"]["reasons"]] == ["unfinished"]
    assert case["result"]["message"] == "run 1 (seed 1): no answer in time"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content.pop("format"),
        lambda content: content.update(format=DOCUMENT_FORMAT + 1),
        lambda content: content.pop("cases"),
        lambda content: content["cases"][0]["result"].update(outcome="fine"),
        lambda content: content["cases"][0]["record"]["runs"][0].pop("seed"),
        lambda content: content["cases"][0]["record"]["runs"][0].update(wall_seconds="long"),
    ],
)
def test_a_malformed_document_does_not_conform_to_the_schema(sound, spoil):
    content = written(sound)
    spoil(content)
    with pytest.raises(jsonschema.ValidationError):
        check(content)


def test_a_written_document_can_be_read_back(sound, unfinished, tmp_path):
    path = tmp_path / "session.json"
    path.write_bytes(document.write([sound, unfinished], SKIPPED))
    found = read_document(path)
    assert found.cases[1] == replace(unfinished, result=explain.rendered(unfinished.result))
    assert found.left_out == tuple(SKIPPED)
    assert read([path]).cases == found.cases


def test_a_document_of_another_format_is_refused_with_its_number(sound, tmp_path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps(written(sound) | {"format": 99}))
    with pytest.raises(FileFormatError, match=r"format 99; this version reads"):
        read_document(path)
