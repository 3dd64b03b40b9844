"""``dlbench runs``, as a user calls it."""

import json

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import CaseOutcome, RunOutcome, codec
from pytest_dlbench.records.reasons import Unavailable
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records, sessions
from tests.doubles.judged import divided

CASE = "training-pytorch-mnist-cnn-digits28-cpu-quick"


@pytest.fixture
def journals(tmp_path, monkeypatch):
    """A folder .dlbench with two sessions, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".dlbench"
    sessions.write(folder, "a")
    sessions.write(folder, "b", outcome=CaseOutcome.REGRESSED, reasons=(Unavailable(problem="slower\nby far"),))
    return folder


@pytest.fixture
def journal(tmp_path):
    """A journal with one judged case and one whose session was interrupted."""
    journal = Journal(tmp_path)
    case = records.case("training-jax-mnist-cnn-digits28-cpu-quick")
    for run in records.runs():
        journal.append(Entry(run=run))
    journal.append(Entry(result=records.case_result()))
    journal.append(Entry(run=records.run(case=case.id)))
    return journal.path


def test_sessions_are_listed_with_their_outcomes(journals, capsys):
    assert main(["runs", "list"]) == 0
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split()[1:] == ["2026-11-21T02:14:05", records.machine().name, "1", "3", "1", "passed"]
    assert second.endswith("1 regressed")


def test_sessions_are_listed_as_json(journals, capsys):
    assert main(["runs", "list", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["cases"], first["runs"], second["outcomes"]) == (1, 3, {"regressed": 1})


def test_the_error_without_recorded_sessions_says_how_to_record_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "list"]) == 2
    assert "no session in .dlbench: run pytest in this folder, or name files and folders" in capsys.readouterr().err


def test_a_damaged_session_is_reported_and_the_others_are_listed(journals, capsys):
    (journals / "20990101T000000-1.jsonl").write_bytes(b"{rub")
    assert main(["runs", "list"]) == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 4
    assert "line 1" in shown.err


def test_a_case_is_shown_run_by_run_for_each_session(journals, capsys):
    assert main(["runs", "show", "pytorch-mnist-cnn"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(f"{CASE}: ") for line in lines) == 2
    assert sum(" finished " in line for line in lines) == 6
    assert "  by far" in lines


def test_a_run_that_did_not_finish_is_shown_with_its_outcome(tmp_path, capsys):
    path = sessions.write(tmp_path, "a", [records.unfinished(RunOutcome.TIMEOUT)], outcome=CaseOutcome.TIMEOUT)
    assert main(["runs", "show", CASE, "--records", str(path)]) == 0
    assert " timeout " in capsys.readouterr().out


def test_a_case_is_printed_as_json_with_its_runs(journals, capsys):
    assert main(["runs", "show", CASE, "--json"]) == 0
    first, _ = json.loads(capsys.readouterr().out)
    assert [run["seed"] for run in first["record"]["runs"]] == [1, 2, 3]


def test_an_unknown_case_is_reported_with_the_closest_match(journals, capsys):
    assert main(["runs", "show", "trainin-pytorch-mnist-cn"]) == 2
    assert f"did you mean '{CASE}'?" in capsys.readouterr().err


def test_a_journal_shows_judged_cases_and_those_that_were_not(journal, capsys):
    assert main(["runs", "journal", str(journal)]) == 0
    out = capsys.readouterr().out
    assert "pytorch-mnist-cnn-digits28-cpu" in out
    assert "not judged: training-jax-mnist-cnn-digits28-cpu-quick: run 1 finished" in out


def test_a_journal_shows_the_last_result_of_a_case_whose_test_failed_later(journal, capsys):
    with journal.open("ab") as file:
        file.write(codec.checked_line(Entry(result=records.case_result(outcome=CaseOutcome.FAILED))))
    assert main(["runs", "journal", str(journal)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("pytorch-mnist-cnn")]
    assert line.endswith("failed")


def test_the_truncated_line_of_a_journal_is_reported_and_the_rest_is_shown(journal, capsys):
    journal.write_bytes(journal.read_bytes()[:-30])
    assert main(["runs", "journal", str(journal)]) == 1
    shown = capsys.readouterr()
    assert "pytorch-mnist-cnn-digits28-cpu" in shown.out
    assert f"{journal}, line 5: not complete JSON" in shown.err
    assert "the others are kept" in shown.err


def test_a_missing_journal_is_a_usage_error(tmp_path, capsys):
    assert main(["runs", "journal", str(tmp_path / "none.jsonl")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_a_journal_is_printed_as_json_with_all_entries(journal, capsys):
    assert main(["runs", "journal", str(journal), "--json"]) == 0
    assert [next(iter(entry.keys() & {"run", "result"})) for entry in json.loads(capsys.readouterr().out)] == [
        *["run"] * 3,
        "result",
        "run",
    ]


def test_layers_of_a_case_are_shown_and_printed_as_json(tmp_path, capsys):
    case, journal = divided(), Journal(tmp_path)
    for run in case.runs:
        journal.append(Entry(run=run, context=case.context))
    journal.append(Entry(result=case.result))
    assert main(["runs", "layers", str(journal.path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "layers: pytorch-divided-digits28-cpu"
    assert main(["runs", "layers", str(journal.path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [layer["name"] for layer in found["layers"]] == ["conv1", "fc1", "loss"]


def test_sessions_without_times_of_layers_say_how_to_get_them(journals, capsys):
    assert main(["runs", "layers"]) == 1
    assert capsys.readouterr().out == "no layer was timed: run pytest with --dlbench-layers\n"


def test_the_table_of_sessions_of_two_machines_is_one_for_each(journals, capsys):
    there = records.context(machine=records.machine(name="linux-other-4cores-16gib"))
    sessions.write(journals, "c", context=there)
    assert main(["runs", "table", str(journals)]) == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("**")]
    assert titles == [
        f"**mnist-cnn on digits28, cpu, scale quick, {machine}**"
        for machine in ("linux-acme-2cores-8gib", "linux-other-4cores-16gib")
    ]
