"""Files of older formats can be read, and their texts are shown unchanged.

Those of format 1 were written before reasons became data (commit 7181c14). They come from a suite of doubles: a session
compared with baselines, one in pairs, and one with too few runs. The journals keep one run of each case. Only the
machine's folders were removed from the texts. Those of format 2 (commit ebea538) have sentences for why pairs ended:
one session in pairs, and a calibration; also for why runs are invalid: a case whose runs all were. One of format 3
(commit b4abe84) has a sentence for what went wrong in a run.
"""

import json
from pathlib import Path

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.reporting import calibrations, cautions, explain, terminal
from pytest_dlbench.reporting.exports import document, rows
from pytest_dlbench.storing.baselines import read_file
from pytest_dlbench.storing.calibrations import CalibrationStore
from pytest_dlbench.storing.recorded import read, read_document
from tests.doubles import records

BEFORE = Path(__file__).parent / "before"
JOURNAL, DOCUMENT, BASELINE = (BEFORE / name for name in ("journal.jsonl", "document.json", "baseline.json"))
UNFINISHED_3 = BEFORE / "unfinished-3.jsonl"
JOURNAL_2, INVALID_2, DOCUMENT_2, CALIBRATION = (
    BEFORE / name for name in ("journal-2.jsonl", "invalid-2.jsonl", "document-2.json", "calibration.json")
)


def written():
    """The results of both files, as stored."""
    lines = [json.loads(line) for line in JOURNAL.read_text().splitlines()]
    of_document = [case["result"] for case in json.loads(DOCUMENT.read_text())["cases"]]
    return [line["result"] for line in lines if line["result"]] + of_document


@pytest.fixture
def results():
    return [case.result for case in read([JOURNAL, DOCUMENT]).cases]


def test_every_case_is_read(results):
    assert read([JOURNAL, DOCUMENT]).damages == ()
    assert [(result.case.id, result.outcome.value) for result in results] == [
        (result["case"]["id"], result["outcome"]) for result in written()
    ]


def test_they_cover_several_outcomes(results):
    assert {"regressed", "suspect", "incomparable", "no_baseline", "inconclusive", "unsupported", "crashed"} <= {
        result.outcome.value for result in results
    }


def test_their_texts_are_shown_unchanged(results):
    shown = [(explain.message(result), explain.settled_by(result), cautions.warnings(result)) for result in results]
    assert shown == [(result["message"], result["settled_by"], tuple(result["warnings"])) for result in written()]


def test_their_texts_are_in_the_notes(results):
    notes = "\n".join(terminal.notes(results))
    (command,) = {result["settled_by"] for result in written()} - {""}
    assert f"to settle it: {command}" in notes
    for text in ("restore it from version control", "no conv2d", "1 of 3 runs that a comparison needs"):
        assert text in notes


def test_writing_them_again_keeps_their_texts(tmp_path):
    path = tmp_path / "again.json"
    path.write_bytes(document.write(read([JOURNAL, DOCUMENT]).cases))
    again = [case.result.message for case in read_document(path).cases]
    assert again == [result["message"] for result in written()]


def test_sentences_of_format_2_are_shown_as_its_document_has_them():
    (stored,) = json.loads(DOCUMENT_2.read_text())["cases"]
    assert "\n  step_time: budget spent; about 4 pairs" in stored["result"]["message"]
    found = read([JOURNAL_2]).cases + read([DOCUMENT_2]).cases
    assert [explain.message(case.result) for case in found] == [stored["result"]["message"]] * 2


def test_sentences_about_invalid_runs_of_format_2_are_shown_unchanged():
    swapped = "memory was swapped: 0 MiB came back from the disk"
    (case,) = read([INVALID_2]).cases
    assert f"\n  run 1 (seed 1): {swapped}\n" in explain.message(case.result)
    assert [row["invalid"] for row in rows.rows([case])] == [swapped]


def test_sentences_about_runs_that_did_not_finish_of_format_3_are_shown_unchanged(tmp_path):
    late = "no answer to 'train' in time: the run was ended after 60 s; --dlbench-timeout=SECONDS allows more"
    (case,) = read([UNFINISHED_3]).cases
    (run,) = case.record.runs
    assert (run.problem, run.message) == (None, late)
    assert explain.message(case.result).splitlines()[0] == f"run 1 (seed 1): {late}"
    path = tmp_path / "again.json"
    path.write_bytes(document.write([case]))
    assert [one.message for one in read_document(path).cases[0].record.runs] == [late]


def test_sentences_of_an_older_calibration_are_shown_unchanged(tmp_path):
    store = CalibrationStore(folder=tmp_path)
    path = store.path(records.case(), records.machine())
    path.parent.mkdir(parents=True)
    path.write_bytes(CALIBRATION.read_bytes())
    found = store.read(records.case(), records.machine())
    assert found.format == 1
    *_, fault = calibrations.lines(found, {}, METRICS)
    assert fault.split() == ["5", "%", "slower", "inconclusive", "20", "all", "pairs", "are", "used"]


def test_a_baseline_is_read_with_its_sessions():
    assert [session.reason for session in read_file(BASELINE).sessions] == ["first", "a second night"]
