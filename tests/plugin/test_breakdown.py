"""--dlbench-breakdown on real processes: what a session shows of the phases of its steps."""

import csv
import json
from dataclasses import replace
from io import StringIO

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records.reasons import Undivided
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.resumption import Resumption
from tests.doubles import records
from tests.running.specs import spec

SETTINGS = RunSettings(
    machine=records.machine(), scale="smoke", threads=1, seed=1, timeout_seconds=60.0, breaks_down=True
)
NONE = "no phases of a step: the builder clocked has no function breakdown(trainer)"


@pytest.fixture
def session(suite):
    """Everything that a session wrote; one of its frameworks divides its steps."""
    suite.write(more={"dividing": "divided"})
    result = suite.run("--dlbench-breakdown", "--dlbench-json=out.json", "--dlbench-html=out.html", "--dlbench-runs=2")
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    assert main(["export", "csv", str(journal), "--output", str(suite.path / "out.csv")]) == 0
    return {
        "ret": result.ret,
        "lines": result.outlines,
        "page": (suite.path / "out.html").read_text(),
        "document": json.loads((suite.path / "out.json").read_text()),
        "csv": list(csv.DictReader(StringIO((suite.path / "out.csv").read_text()))),
    }


def test_every_output_has_the_phases_of_frameworks_that_have_them_and_the_reason_of_others(session):
    assert session["ret"] == 0
    place = next(number for number, line in enumerate(session["lines"]) if line.startswith("phases of a step: "))
    headings, row, end = session["lines"][place + 1 : place + 4]
    assert headings.split() == ["framework", "input", "forward", "backward", "update", "phases", "/", "step"]
    assert row.split()[0] == "dividing"
    assert "1.00 ms (50%)" in row
    assert row.endswith("100.00 %")
    assert end == ""
    assert any(line.startswith("warning: ") and NONE in line for line in session["lines"])
    by_framework = {case["record"]["case"]["framework"]: case for case in session["document"]["cases"]}
    assert by_framework["dividing"]["result"]["figures"]["phase_backward"] == pytest.approx(0.001)
    assert by_framework["numpy"]["record"]["runs"][1]["breakdown"]["undivided"]["cause"] == "no_function"
    assert NONE in by_framework["numpy"]["result"]["warnings"]
    assert {(row["framework"], row["phase_update"] == "") for row in session["csv"]} == {
        *(("numpy", True), ("dividing", False))
    }
    assert NONE in session["page"]
    assert "Phases of a step" in session["page"]


def test_without_the_option_nothing_is_broken_down(suite):
    suite.write(builder="divided")
    result = suite.run("--dlbench-json=out.json", "--dlbench-runs=1")
    assert "phases of a step" not in result.stdout.str()
    (case,) = json.loads((suite.path / "out.json").read_text())["cases"]
    assert "breakdown" not in case["record"]["runs"][0] or case["record"]["runs"][0]["breakdown"] is None


def test_a_case_of_another_kind_says_that_it_has_no_phases(tmp_path):
    asked = SETTINGS, replace(spec("divided", tmp_path), purpose="inference")
    assert reasons.of_breakdown(*asked) == (Undivided(cause="purpose", what="inference"),)
    assert reasons.of_breakdown(SETTINGS, spec("divided", tmp_path)) == ()
    assert reasons.of_breakdown(replace(SETTINGS, breaks_down=False), asked[1]) == ()


def test_a_session_that_goes_on_takes_no_runs_without_the_phases_that_it_asks_for(tmp_path):
    plain, resumption = spec("divided", tmp_path), Resumption(settings=SETTINGS)
    assert resumption.conditions(plain) == resumption.conditions(replace(plain))
    divided = replace(plain, is_broken_down=True)
    asked = [plain, divided, replace(divided, has_layers_timed=True)]
    assert len({resumption.conditions(one) for one in asked}) == len(asked)
