"""``dlbench list`` and ``dlbench show``, as a user calls them."""

import json
from dataclasses import replace

import pytest

from pytest_dlbench.cli import records as records_command
from pytest_dlbench.cli.main import main
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.records import CaseOutcome, RunOutcome
from pytest_dlbench.records.reasons import Unavailable
from tests.doubles import records, sessions

CASE = "training-pytorch-mnist-cnn-digits28-cpu-quick"


@pytest.fixture
def journals(tmp_path, monkeypatch):
    """The .dlbench of the folder that the command is called in, with two sessions."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".dlbench"
    sessions.write(folder, "a")
    sessions.write(folder, "b", outcome=CaseOutcome.REGRESSED, reasons=(Unavailable(problem="slower\nby far"),))
    return folder


def test_sessions_are_listed_with_their_outcomes(journals, capsys):
    assert main(["list"]) == 0
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split()[1:] == ["2026-11-21T02:14:05", records.machine().name, "1", "3", "1", "passed"]
    assert second.endswith("1 regressed")


def test_sessions_are_listed_as_json(journals, capsys):
    assert main(["list", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["cases"], first["runs"], second["outcomes"]) == (1, 3, {"regressed": 1})


def test_where_nothing_was_recorded_the_message_says_what_records(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["list"]) == 2
    assert "there is no session in .dlbench: run pytest here, or name files and folders" in capsys.readouterr().err


def test_a_damaged_session_is_told_and_the_others_are_listed(journals, capsys):
    (journals / "20990101T000000-1.jsonl").write_bytes(b"{rub")
    assert main(["list"]) == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 4
    assert "line 1" in shown.err


def test_a_case_is_shown_run_by_run_for_each_session(journals, capsys):
    assert main(["show", "pytorch-mnist-cnn"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(f"{CASE}: ") for line in lines) == 2
    assert sum(" finished " in line for line in lines) == 6
    assert "  by far" in lines


def test_a_run_that_did_not_finish_is_shown_with_its_outcome(tmp_path, capsys):
    path = sessions.write(tmp_path, "a", [records.unfinished(RunOutcome.TIMEOUT)], outcome=CaseOutcome.TIMEOUT)
    assert main(["show", CASE, "--records", str(path)]) == 0
    assert " timeout " in capsys.readouterr().out


def test_a_case_is_shown_as_json_with_everything(journals, capsys):
    assert main(["show", CASE, "--json"]) == 0
    first, _ = json.loads(capsys.readouterr().out)
    assert [run["seed"] for run in first["record"]["runs"]] == [1, 2, 3]


def test_an_unknown_case_is_told_with_the_nearest(journals, capsys):
    assert main(["show", "trainin-pytorch-mnist-cn"]) == 2
    assert f"did you mean '{CASE}'?" in capsys.readouterr().err


def test_the_native_model_is_what_the_framework_prints_of_it(capsys):
    assert main(["show", "gatech-lenet", "--native", "pytorch"]) == 0
    out = capsys.readouterr().out
    assert "Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1))" in out
    assert "Linear(in_features=800, out_features=500, bias=True)" in out


def test_a_native_model_of_an_unknown_framework_is_told_with_the_nearest(capsys):
    assert main(["show", "gatech-lenet", "--native", "pytorhc"]) == 2
    assert "did you mean 'pytorch'?" in capsys.readouterr().err


def test_a_native_model_of_an_unknown_name_is_told_with_the_nearest(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["show", "gatech-lennet", "--native", "pytorch"]) == 2
    assert "did you mean 'gatech-lenet'?" in capsys.readouterr().err


def test_a_model_that_the_framework_cannot_build_is_an_error_with_the_reason(capsys, monkeypatch, tmp_path):
    broken = replace(FRAMEWORKS["pytorch"], builder="dlworker.frameworks.nobody_wrote_this")
    monkeypatch.setitem(records_command.FRAMEWORKS, "pytorch", broken)
    assert main(["show", "gatech-lenet", "--native", "pytorch"]) == 2
    assert "nobody_wrote_this" in capsys.readouterr().err
