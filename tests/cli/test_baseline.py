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
    """The baselines of the folder that the command is called in: one."""
    monkeypatch.chdir(tmp_path)
    store = BaselineStore(folder=tmp_path / "baselines")
    store.write(records.baseline())
    return store


def accept(path, *options):
    return main(["baseline", "accept", str(path), "--reason", "better now", *options])


def test_baselines_are_listed_with_anchors_sessions_and_reasons(store, capsys):
    assert main(["baseline", "list"]) == 0
    _, line = capsys.readouterr().out.splitlines()
    shown = [records.machine().name, CASE, "2026-11-20T10:00:00+00:00", "20261120T100000", "1", "3"]
    assert line.split() == [*shown, "first", "baseline"]


def test_the_sessions_of_a_case_are_listed_with_the_anchor_marked(store, capsys):
    store.write(records.baseline_of(records.runs(), records.runs(steps=(0.02,) * 3)))
    assert main(["baseline", "list", CASE]) == 0
    _, _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.split()[:7] == ["*", "20261101T100000", "3", "6,400", "samples/s", "10.0", "ms"]
    assert second.split()[:6] == ["20261102T100000", "3", "3,200", "samples/s", "20.0", "ms"]


def test_baselines_are_listed_as_json(store, capsys):
    assert main(["baseline", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["case"], row["runs"]) == (CASE, 3)


def test_a_damaged_baseline_is_told_and_the_others_are_listed(store, capsys):
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
        ([replace(run, invalid=("the card was slowed",)) for run in records.runs()], "the card was slowed"),
    ],
    ids=["few", "unfinished", "disturbed", "spoiled"],
)
def test_what_is_no_sound_figure_is_refused_with_the_reason(store, tmp_path, capsys, runs, why):
    path = sessions.write(tmp_path, "a", runs, outcome=CaseOutcome.NO_BASELINE)
    assert accept(path) == 1
    assert why in capsys.readouterr().err
    assert store.read(records.case(), records.machine()) == records.baseline()


def test_only_cases_that_fit_a_pattern_are_accepted(store, tmp_path, capsys):
    path = sessions.write(tmp_path, "a")
    assert accept(path, "--case", "*jax*") == 2
    assert CASE in capsys.readouterr().err


def test_runs_of_another_batch_size_begin_a_baseline_of_their_own(store, tmp_path):
    path = sessions.write(tmp_path, "a", context=records.context(batch_size=128))
    assert accept(path) == 0
    baseline = store.read(records.case(), records.machine())
    assert (len(baseline.sessions), baseline.context.batch_size) == (1, 128)


# The anchor


@pytest.fixture
def three(store):
    """Three sessions, the first of them the anchor."""
    store.write(records.baseline_of(*[records.runs()] * 3))
    return store


def anchor_of(store):
    return store.read(records.case(), records.machine()).anchor


@pytest.mark.parametrize(
    ("which", "chosen"),
    [(["--last"], "20261103T100000"), (["--session", "20261102T100000"], "20261102T100000")],
)
@pytest.mark.parametrize("case", [CASE, "*pytorch*", "--all"])
def test_another_session_is_made_the_anchor(three, case, which, chosen):
    assert main(["baseline", "anchor", case, *which]) == 0
    assert anchor_of(three) == chosen


def test_the_first_session_is_made_the_anchor_again(three):
    main(["baseline", "anchor", CASE, "--last"])
    assert main(["baseline", "anchor", CASE, "--first"]) == 0
    assert anchor_of(three) == "20261101T100000"


def test_a_new_anchor_is_told_with_the_old_one(three, capsys):
    main(["baseline", "anchor", CASE, "--last"])
    assert capsys.readouterr().out == f"{CASE}: anchor 20261101T100000 → 20261103T100000\n"


def test_a_session_that_is_not_there_is_told_with_those_that_are(three, capsys):
    assert main(["baseline", "anchor", CASE, "--session", "2025"]) == 1
    assert "no session '2025', only 20261101T100000, 20261102T100000" in capsys.readouterr().err
    assert anchor_of(three) == "20261101T100000"


@pytest.mark.parametrize("cases", [[], [CASE, "--all"]])
def test_an_anchor_is_of_a_case_or_of_all(three, capsys, cases):
    assert main(["baseline", "anchor", *cases, "--last"]) == 2
    assert "CASE" in capsys.readouterr().err


def test_an_unknown_case_is_told_with_the_known_ones(three, capsys):
    assert main(["baseline", "anchor", "*theano*", "--last"]) == 2
    assert CASE in capsys.readouterr().err


def test_what_nothing_measures_is_told_and_stays(store, tmp_path, capsys):
    other = records.case("training-jax-mnist-cnn-digits28-cpu-quick")
    path = sessions.write(tmp_path, "a", case=other)
    assert main(["baseline", "prune", "--not-in", str(path)]) == 0
    assert "would be removed: no recorded session has measured it" in capsys.readouterr().out
    assert store.read(records.case(), records.machine())


def test_with_yes_what_nothing_measures_is_removed_and_the_rest_stays(store, tmp_path):
    other = records.case("training-jax-mnist-cnn-digits28-cpu-quick")
    store.write(records.baseline(case=other))
    path = sessions.write(tmp_path, "a", case=other)
    assert main(["baseline", "prune", "--not-in", str(path), "--yes"]) == 0
    assert store.read(records.case(), records.machine()) is None
    assert store.read(other, records.machine())


def test_damaged_ones_are_removed_only_where_that_is_asked(store):
    path = store.folder / records.machine().name / "broken.json"
    path.write_text("{")
    assert main(["baseline", "prune", "--older-than", "1", "--yes"]) == 0
    assert path.exists()
    assert main(["baseline", "prune", "--damaged", "--yes"]) == 0
    assert not path.exists()


@pytest.mark.parametrize(("days", "stays"), [("1", False), ("36500", True)])
def test_old_ones_are_removed(store, days, stays):
    store.write(records.baseline(sessions=(records.baseline_session(saved="2020-01-01T00:00:00+00:00"),)))
    assert main(["baseline", "prune", "--older-than", days, "--yes"]) == 0
    assert bool(store.read(records.case(), records.machine())) is stays


def test_prune_wants_to_know_which(store, capsys):
    assert main(["baseline", "prune"]) == 2
    assert "--not-in RECORDS, --older-than DAYS or --damaged" in capsys.readouterr().err
