"""``dlbench baseline``, as a user calls it."""

import json
from dataclasses import replace

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import CaseOutcome, RunOutcome
from pytest_dlbench.storing import BaselineStore
from tests.doubles import records, sessions

CASE = records.case().id


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with one baseline, in the current folder."""
    monkeypatch.chdir(tmp_path)
    store = BaselineStore(folder=tmp_path / "baselines")
    store.write(records.baseline())
    return store


def accept(path, *options):
    return main(["baseline", "accept", str(path), "--reason", "better now", *options])


def test_baselines_are_listed_with_reference_sessions_and_reasons(store, capsys):
    assert main(["baseline", "list"]) == 0
    _, line = capsys.readouterr().out.splitlines()
    shown = [records.machine().name, CASE, "2026-11-20T10:00:00+00:00", "20261120T100000", "1", "3"]
    assert line.split() == [*shown, "first", "baseline"]


def test_the_sessions_of_a_case_are_listed_with_the_reference_session_marked(store, capsys):
    store.write(records.baseline_of(records.runs(), records.runs(steps=(0.02,) * 3)))
    assert main(["baseline", "list", CASE]) == 0
    _, _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.split()[:7] == ["*", "20261101T100000", "3", "6,400", "samples/s", "10.0", "ms"]
    assert second.split()[:6] == ["20261102T100000", "3", "3,200", "samples/s", "20.0", "ms"]


def test_baselines_are_listed_as_json(store, capsys):
    assert main(["baseline", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["case"], row["runs"]) == (CASE, 3)


def test_a_damaged_baseline_is_reported_and_the_others_are_listed(store, capsys):
    (store.folder / records.machine().name / "broken.json").write_text("{")
    assert main(["baseline", "list"]) == 1
    shown = capsys.readouterr()
    assert CASE in shown.out
    assert "broken.json" in shown.err


def test_without_baselines_the_message_says_what_writes_them(tmp_path, capsys):
    assert main(["baseline", "list", "--baselines", str(tmp_path / "none")]) == 2
    assert "pytest --dlbench-save" in capsys.readouterr().err


def test_recorded_figures_become_the_baseline(store, tmp_path, capsys):
    path = sessions.write(tmp_path, "a", records.runs(steps=(0.02, 0.02, 0.02)))
    assert accept(path) == 0
    before, after = store.read(records.case(), records.machine()).sessions
    assert (before.reason, after.reason) == ("first baseline", "better now")
    assert after.medians["step_time"] == pytest.approx(0.02)
    assert str(store.path(records.case(), records.machine()).relative_to(tmp_path)) in capsys.readouterr().out


def test_the_newest_recording_of_a_case_is_accepted(store, tmp_path):
    sessions.write(tmp_path / "journals", "a", records.runs(steps=(0.02, 0.02, 0.02)))
    sessions.write(tmp_path / "journals", "b", records.runs(steps=(0.03, 0.03, 0.03)))
    assert accept(tmp_path / "journals") == 0
    _, newest = store.read(records.case(), records.machine()).sessions
    assert newest.medians["step_time"] == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        (records.runs()[:2], "2 of the 3 runs"),
        ([records.unfinished(RunOutcome.TIMEOUT)], "timeout: run 1 (seed 1): it went wrong"),
        (
            [replace(run, usage={"train": records.usage(foreign_cpus=1.5)}) for run in records.runs()],
            "other processes on this machine used 1.5 CPUs",
        ),
        ([replace(run, invalid=("the GPU was throttled",)) for run in records.runs()], "the GPU was throttled"),
    ],
    ids=["few", "unfinished", "disturbed", "invalid"],
)
def test_a_case_without_sound_figures_is_refused_with_the_reason(store, tmp_path, capsys, runs, why):
    path = sessions.write(tmp_path, "a", runs, outcome=CaseOutcome.NO_BASELINE)
    assert accept(path) == 1
    assert why in capsys.readouterr().err
    assert store.read(records.case(), records.machine()) == records.baseline()


def test_a_pattern_that_matches_no_case_is_a_usage_error(store, tmp_path, capsys):
    path = sessions.write(tmp_path, "a")
    assert accept(path, "--case", "*jax*") == 2
    assert CASE in capsys.readouterr().err


def test_runs_with_another_batch_size_start_a_new_baseline(store, tmp_path):
    path = sessions.write(tmp_path, "a", context=records.context(batch_size=128))
    assert accept(path) == 0
    baseline = store.read(records.case(), records.machine())
    assert (len(baseline.sessions), baseline.context.batch_size) == (1, 128)


# The reference session


@pytest.fixture
def three(store):
    """Three sessions, of which the first is the reference session."""
    store.write(records.baseline_of(*[records.runs()] * 3))
    return store


def reference_of(store):
    return store.read(records.case(), records.machine()).anchor


@pytest.mark.parametrize(
    ("which", "chosen"),
    [(["--last"], "20261103T100000"), (["--session", "20261102T100000"], "20261102T100000")],
)
@pytest.mark.parametrize("case", [CASE, "*pytorch*", "--all"])
def test_another_session_becomes_the_reference(three, case, which, chosen):
    assert main(["baseline", "anchor", case, *which]) == 0
    assert reference_of(three) == chosen


def test_the_first_session_becomes_the_reference_again(three):
    main(["baseline", "anchor", CASE, "--last"])
    assert main(["baseline", "anchor", CASE, "--first"]) == 0
    assert reference_of(three) == "20261101T100000"


def test_the_new_reference_session_is_reported_with_the_old_one(three, capsys):
    main(["baseline", "anchor", CASE, "--last"])
    assert capsys.readouterr().out == f"{CASE}: reference session 20261101T100000 → 20261103T100000\n"


def test_an_unknown_session_is_reported_with_the_known_ones(three, capsys):
    assert main(["baseline", "anchor", CASE, "--session", "2025"]) == 1
    assert "no session '2025', only 20261101T100000, 20261102T100000" in capsys.readouterr().err
    assert reference_of(three) == "20261101T100000"


@pytest.mark.parametrize("cases", [[], [CASE, "--all"]])
def test_a_reference_session_needs_a_case_or_all(three, capsys, cases):
    assert main(["baseline", "anchor", *cases, "--last"]) == 2
    assert "CASE" in capsys.readouterr().err


def test_an_unknown_case_is_reported_with_the_known_ones(three, capsys):
    assert main(["baseline", "anchor", "*theano*", "--last"]) == 2
    assert CASE in capsys.readouterr().err


def test_a_case_that_is_no_longer_measured_is_listed_but_kept(store, tmp_path, capsys):
    other = records.case("training-jax-mnist-cnn-digits28-cpu-quick")
    path = sessions.write(tmp_path, "a", case=other)
    assert main(["baseline", "prune", "--not-in", str(path)]) == 0
    assert "would be removed: not measured by any of these sessions" in capsys.readouterr().out
    assert store.read(records.case(), records.machine())


def test_with_yes_only_cases_that_are_no_longer_measured_are_removed(store, tmp_path):
    other = records.case("training-jax-mnist-cnn-digits28-cpu-quick")
    store.write(records.baseline(case=other))
    path = sessions.write(tmp_path, "a", case=other)
    assert main(["baseline", "prune", "--not-in", str(path), "--yes"]) == 0
    assert store.read(records.case(), records.machine()) is None
    assert store.read(other, records.machine())


def test_damaged_baselines_are_removed_only_on_request(store):
    path = store.folder / records.machine().name / "broken.json"
    path.write_text("{")
    assert main(["baseline", "prune", "--older-than", "1", "--yes"]) == 0
    assert path.exists()
    assert main(["baseline", "prune", "--damaged", "--yes"]) == 0
    assert not path.exists()


@pytest.mark.parametrize(("days", "stays"), [("1", False), ("36500", True)])
def test_old_baselines_are_removed(store, days, stays):
    store.write(records.baseline(sessions=(records.baseline_session(saved="2020-01-01T00:00:00+00:00"),)))
    assert main(["baseline", "prune", "--older-than", days, "--yes"]) == 0
    assert bool(store.read(records.case(), records.machine())) is stays


def test_prune_without_a_criterion_is_a_usage_error(store, capsys):
    assert main(["baseline", "prune"]) == 2
    assert "--not-in RECORDS, --older-than DAYS or --damaged" in capsys.readouterr().err
