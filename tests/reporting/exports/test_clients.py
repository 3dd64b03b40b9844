"""Exports as their readers take them: MLPerf's own parser, and what Bencher and github-action-benchmark publish."""

import json
import math
from pathlib import Path

import jsonschema
import pytest
from mlperf_logging.compliance_checker import mlp_parser
from mlperf_logging.mllog import constants

from pytest_dlbench.reporting.exports import FORMATS

SCHEMAS = Path(__file__).parent / "schemas"


def export(name, *recorded):
    return FORMATS[name].write(recorded).decode()


def strict(text):
    """JSON as other languages read it: NaN and infinity are no numbers."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", ["bencher", "github-action-benchmark"])
def test_an_export_conforms_to_the_published_format(name, sound, unfinished, applied):
    content = strict(export(name, sound, unfinished, applied))
    assert len(content) >= 2
    jsonschema.validate(content, json.loads((SCHEMAS / f"{name.replace('-', '_')}.json").read_text()))


def test_names_in_bencher_are_those_that_its_adapter_keeps(sound):
    """It makes a slug of a measure's name: two names must not become one."""
    (measures,) = strict(export("bencher", sound)).values()
    slugs = {name.lower().replace("_", "-") for name in measures}
    assert len(slugs) == len(measures)


def test_the_parser_of_mlperf_reads_every_line(sound, unfinished, applied, tmp_path):
    text = export("mllog", sound, unfinished, applied)
    path = tmp_path / "result_0.txt"
    path.write_text(text)
    lines, failed = mlp_parser.parse_file(path, ruleset="5.0.0")
    assert failed == []
    assert len(lines) == len(text.splitlines())
    assert all(math.isfinite(line.timestamp) for line in lines)


def test_every_key_and_value_of_mllog_is_one_that_mlperf_defines(sound, unfinished, applied):
    known = {value for name, value in vars(constants).items() if name.isupper()}
    events = [json.loads(line.removeprefix(":::MLLOG ")) for line in export("mllog", sound, unfinished).splitlines()]
    events += [json.loads(line.removeprefix(":::MLLOG ")) for line in export("mllog", applied).splitlines()]
    assert {event["key"] for event in events} <= known
    assert {event["event_type"] for event in events} <= known
    assert {event["metadata"]["status"] for event in events if event["key"] == "run_stop"} <= known
    assert {event["value"] for event in events if event["key"] in ("submission_status", "opt_name")} <= known
