"""``dlbench history``, as a user calls it."""

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records.reasons import OnBattery
from pytest_dlbench.storing import Journal
from pytest_dlbench.storing.history import History
from tests.doubles import records, sessions

CASE = records.case().id


def runs_of_day(day, step=0.01, torch="2.12.0"):
    began = f"2026-11-{day:02}T02:14:05+00:00"
    versions = {**records.VERSIONS, "torch": torch}
    return [replace(run, began=began, versions=versions) for run in records.runs(steps=(step,) * 3)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def history(tmp_path, monkeypatch, capsys):
    """A history in the current folder: two days, of which the second is slower."""
    monkeypatch.chdir(tmp_path)
    second = sessions.write(tmp_path / "journals", "b", runs_of_day(12, 0.02, "2.13.0"))
    first = sessions.write(tmp_path / "journals", "a", runs_of_day(11))
    assert main(["history", "--add", str(second), str(first)]) == 0
    capsys.readouterr()
    return tmp_path / "history"


def test_without_a_case_all_cases_are_listed(history, capsys):
    assert main(["history"]) == 0
    _, line = capsys.readouterr().out.splitlines()
    assert line.split() == [CASE, records.machine().name, "2", "6", "2026-11-11", "2026-11-12"]


def test_sessions_are_in_order_of_time_with_changed_versions(history, capsys):
    assert main(["history", CASE]) == 0
    title, _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert title == f"{CASE} on {records.machine().name}"
    assert first.split()[:6] == ["2026-11-11T02:14:05", "3", "6,400", "samples/s", "10.0", "ms"]
    assert second.split()[:6] == ["2026-11-12T02:14:05", "3", "3,200", "samples/s", "20.0", "ms"]
    assert second.endswith("torch 2.12.0 → 2.13.0")


def test_a_pattern_selects_cases(history, capsys):
    assert main(["history", "*pytorch*", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert [round(row["figures"]["step_time"], 4) for row in (first, second)] == [0.01, 0.02]
    assert second["changed"] == ["torch 2.12.0 → 2.13.0"]


def test_an_unknown_case_is_reported_with_the_closest_match(history, capsys):
    assert main(["history", CASE[:-1]]) == 2
    assert f"did you mean '{CASE}'?" in capsys.readouterr().err


def test_a_damaged_file_is_named_and_the_others_are_shown(history, capsys):
    path = next(history.glob("*/*/*.parquet"))
    path.write_bytes(b"rubbish")
    assert main(["history", CASE, "--json"]) == 1
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)) == 1
    assert path.name in shown.err


def test_the_error_for_a_missing_history_says_how_to_write_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["history", CASE]) == 2
    assert "pytest --dlbench-history" in capsys.readouterr().err


@pytest.mark.parametrize("case", [[], [CASE]])
def test_an_unknown_machine_class_is_reported_with_the_known_ones(history, case, capsys):
    assert main(["history", *case, "--machine", "x"]) == 2
    said = capsys.readouterr().err
    assert "unknown machine class 'x'" in said
    assert records.machine().name in said


def test_days_without_sessions_have_no_cases(history, capsys):
    assert main(["history", "--since", "2999-01-01"]) == 0
    assert capsys.readouterr().out == "no sessions\n"
    assert main(["history", "--since", "2999-01-01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(("case", "status"), [([], 1), ([CASE], 2)])
def test_damaged_files_are_named_where_no_other_is_left(history, case, status, capsys):
    paths = list(history.glob("*/*/*.parquet"))
    for path in paths:
        path.write_bytes(b"rubbish")
    assert main(["history", *case]) == status
    said = capsys.readouterr().err
    assert all(path.name in said for path in paths)


def test_an_invalid_date_is_a_usage_error(history, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["history", CASE, "--since", "yesterday"])
    assert ended.value.code == 2


# Comparable sessions

BATCHES = {11: 32, 12: None, 13: 32, 14: None, 15: 64}


@pytest.fixture
def batches(folder, capsys):
    """Sessions of three batch sizes, the second of which is none."""
    paths = [
        sessions.write(folder / "journals", str(day), runs_of_day(day), records.context(batch_size=size))
        for day, size in BATCHES.items()
    ]
    assert main(["history", "--add", *map(str, paths)]) == 0
    capsys.readouterr()


def test_sessions_of_other_conditions_are_another_series(batches, capsys):
    assert main(["history", CASE]) == 0
    lines = capsys.readouterr().out.splitlines()
    title = f"{CASE} on {records.machine().name}"
    assert [line for line in lines if line.startswith(CASE)] == [
        f"{title}, batch_size={size}" for size in (32, "–", 64)
    ]
    days = [line.split()[0][8:10] for line in lines if line.startswith("2026")]
    assert days == ["11", "13", "12", "14", "15"]
    assert sum("sessions: level shifts" in line for line in lines) == 3


def test_every_session_has_its_conditions(batches, capsys):
    assert main(["history", CASE, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["conditions"]["batch_size"] for row in rows] == [32, 32, None, None, 64]
    assert {(row["conditions"]["steps"], row["conditions"]["precision"]) for row in rows} == {(50, "float32")}


@pytest.mark.parametrize("changes", [{"invalid": (OnBattery(),)}, {"outcome": RunOutcome.TIMEOUT}])
def test_a_run_that_is_invalid_or_did_not_finish_moves_no_median(folder, changes, capsys):
    slow = [replace(run, **changes) for run in runs_of_day(11, 0.02)[:2]]
    path = sessions.write(folder / "journals", "11", [*slow, *runs_of_day(11)[2:]])
    assert main(["history", "--add", str(path)]) == 0
    capsys.readouterr()
    assert main(["history", CASE, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["figures"]["step_time"] == pytest.approx(0.01)
    assert row["runs"] == 1


# Adding again


def of_session(tmp_path, process="", session="0123456789ab", case=None):
    """A journal of one process of a session of pytest."""
    journal = Journal(tmp_path / "journals", process, session)
    sessions.add(journal, case=case or records.case())
    return journal.path


def counted(capsys):
    """How many sessions and runs the history has of each case."""
    capsys.readouterr()
    assert main(["history", "--json"]) == 0
    return {row["case"]: (row["sessions"], row["runs"]) for row in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize("session", ["", "0123456789ab", "../../0123456"], ids=["unnamed", "named", "elsewhere"])
def test_a_journal_that_is_added_twice_is_one_session(folder, session, capsys):
    path = str(of_session(folder, session=session))
    assert main(["history", "--add", path]) == 0
    added = capsys.readouterr().out
    assert main(["history", "--add", path, path]) == 0
    assert capsys.readouterr().out == added
    assert counted(capsys) == {CASE: (1, 3)}
    assert {path.name for path in folder.iterdir()} == {"history", "journals"}


def test_a_journal_without_the_name_of_its_session_is_the_same_session_when_compressed(folder, capsys):
    path = of_session(folder, session="")
    packed = path.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert main(["history", "--add", str(path)]) == main(["history", "--add", str(packed)]) == 0
    assert counted(capsys) == {CASE: (1, 3)}


def test_several_journals_are_several_sessions(folder, capsys):
    days = [sessions.write(folder / "journals", str(day), runs_of_day(day)) for day in (11, 12)]
    assert main(["history", "--add", *map(str, days)]) == 0
    assert main(["history", "--add", str(folder / "journals")]) == 0
    assert counted(capsys) == {CASE: (2, 6)}


@pytest.mark.parametrize("calls", [[[0, 1]], [[0], [1]], [[0], [0, 1]], [[0, 1], [1]], [[0], [1], [0, 1], [0]]])
def test_the_journals_of_the_processes_of_a_session_are_one_session(folder, calls, capsys):
    other = records.case("training-jax-tartu-mnist-cnn-digits28-cpu-quick", framework="jax")
    paths = [of_session(folder, "gw0"), of_session(folder, "gw1", case=other)]
    for call in calls:
        assert main(["history", "--add", *(str(paths[number]) for number in call)]) == 0
    assert counted(capsys) == {CASE: (1, 3), other.id: (1, 3)}
    assert History(address="history").read().rows["session"].nunique() == 1


# Level shifts


@pytest.fixture
def nightly(tmp_path, monkeypatch, capsys):
    """Forty nights, of which the last eight are 10 % slower."""
    monkeypatch.chdir(tmp_path)
    for night in range(40):
        step = 0.01 * (1 + 0.002 * (night % 5 - 2)) * (1.1 if night >= 32 else 1)
        began = datetime(2026, 10, 1, 2, tzinfo=UTC) + timedelta(days=night)
        runs = [replace(run, began=began.isoformat()) for run in records.runs(steps=(step,) * 3)]
        sessions.write(tmp_path / "journals", f"{night:02}", runs)
    assert main(["history", "--add", *map(str, sorted((tmp_path / "journals").glob("*.jsonl")))]) == 0
    capsys.readouterr()


def test_a_level_shift_is_reported_with_its_start_and_size(nightly, capsys):
    assert main(["history", CASE]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step_time is worse")]
    assert line.startswith("step_time is worse from 2026-11-02T02:00:00 on, ratio 1.1")
    assert line.endswith("detected in the session of 2026-11-04T02:00:00")


def test_a_level_shift_is_listed_in_the_session_in_which_it_began(nightly, capsys):
    assert main(["history", CASE, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    (shifted,) = [row for row in rows if row["change_points"]]
    assert shifted["began"] == "2026-11-02T02:00:00+00:00"
    found = {point["metric"]: point["is_worse"] for point in shifted["change_points"]}
    assert found == {"step_time": True, "throughput": True, "first_step": True}


def test_too_few_sessions_for_a_level_shift_are_reported(history, capsys):
    assert main(["history", CASE]) == 0
    assert "2 sessions: level shifts are detected only after the first 30" in capsys.readouterr().out
