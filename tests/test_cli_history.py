"""``dlbench history``, as a user calls it."""

import json
from dataclasses import replace

import pytest

from pytest_dlbench.cli import main
from tests.doubles import records, sessions

CASE = records.case().id


def of_day(day, step=0.01, torch="2.12.0"):
    began = f"2026-11-{day:02}T02:14:05+00:00"
    versions = {**records.VERSIONS, "torch": torch}
    return [replace(run, began=began, versions=versions) for run in records.runs(steps=(step,) * 3)]


@pytest.fixture
def history(tmp_path, monkeypatch, capsys):
    """The history of the folder that the command is called in: two days, of which the second is slower."""
    monkeypatch.chdir(tmp_path)
    second = sessions.write(tmp_path / "journals", "b", of_day(12, 0.02, "2.13.0"))
    first = sessions.write(tmp_path / "journals", "a", of_day(11))
    assert main(["history", "--add", str(second), str(first)]) == 0
    capsys.readouterr()
    return tmp_path / "history"


def test_without_a_case_all_are_listed(history, capsys):
    assert main(["history"]) == 0
    _, line = capsys.readouterr().out.splitlines()
    assert line.split() == [CASE, records.machine().name, "2", "6", "2026-11-11", "2026-11-12"]


def test_sessions_are_in_the_order_of_time_with_what_changed(history, capsys):
    assert main(["history", CASE]) == 0
    title, _, first, second, _ = capsys.readouterr().out.splitlines()
    assert title == f"{CASE} on {records.machine().name}"
    assert first.split()[:4] == ["2026-11-11T02:14:05", "3", "10.0", "ms"]
    assert second.split()[:4] == ["2026-11-12T02:14:05", "3", "20.0", "ms"]
    assert second.endswith("torch 2.12.0 → 2.13.0")


def test_a_pattern_finds_cases(history, capsys):
    assert main(["history", "*pytorch*", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert [round(row["figures"]["step_time"], 4) for row in (first, second)] == [0.01, 0.02]
    assert second["changed"] == ["torch 2.12.0 → 2.13.0"]


def test_an_unknown_case_is_told_with_the_nearest(history, capsys):
    assert main(["history", CASE[:-1]]) == 2
    assert f"did you mean '{CASE}'?" in capsys.readouterr().err


def test_a_damaged_file_is_named_and_the_others_are_shown(history, capsys):
    path = next(history.glob("*/*/*.parquet"))
    path.write_bytes(b"rubbish")
    assert main(["history", CASE, "--json"]) == 1
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)) == 1
    assert path.name in shown.err


def test_no_history_is_an_error_that_says_what_writes_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["history", CASE]) == 2
    assert "pytest --dlbench-history" in capsys.readouterr().err


def test_a_day_that_is_none_is_a_wrong_call(history, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["history", CASE, "--since", "yesterday"])
    assert ended.value.code == 2
