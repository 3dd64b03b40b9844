"""``dlbench baseline``, as a user calls it."""

import json
from dataclasses import replace

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import PORTABLE, CaseOutcome, RunOutcome
from pytest_dlbench.records.reasons import NotExamined, NotTimed
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


def test_the_same_runs_are_accepted_once(store, tmp_path, capsys):
    path = sessions.write(tmp_path, "a", records.runs(steps=(0.02, 0.02, 0.02)))
    assert [accept(path), accept(path)] == [0, 1]
    assert "the baseline has these runs already, saved 20" in capsys.readouterr().err
    assert len(store.read(records.case(), records.machine()).sessions) == 2


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


EARLY, LATE = "2026-11-20T02:00:00+00:00", "2026-11-21T02:00:00+00:00"
AMD, INTEL = (records.machine(name=f"linux-{name}-2cores-8gib") for name in ("amd", "intel"))


def slower(step, began=EARLY):
    return [replace(run, began=began) for run in records.runs(steps=(step,) * 3)]


def test_the_newest_recording_is_the_one_that_began_last_whatever_its_name(store, tmp_path):
    sessions.write(tmp_path / "journals", "run-10", slower(0.03, LATE))
    sessions.write(tmp_path / "journals", "run-9", slower(0.02))
    assert accept(tmp_path / "journals") == 0
    _, newest = store.read(records.case(), records.machine()).sessions
    assert newest.medians["step_time"] == pytest.approx(0.03)


def test_a_case_is_accepted_on_every_machine_class(store, tmp_path):
    for machine, step in ((AMD, 0.02), (INTEL, 0.03)):
        sessions.write(tmp_path / "journals", machine.name, slower(step), records.context(machine=machine))
    assert accept(tmp_path / "journals") == 0
    found = [store.read(records.case(), machine).sessions[0].medians["step_time"] for machine in (AMD, INTEL)]
    assert found == pytest.approx([0.02, 0.03])


def test_a_portable_baseline_takes_the_newest_recording_of_all_machine_classes(store, tmp_path):
    sessions.write(tmp_path / "journals", "a", slower(0.02, LATE), records.context(machine=AMD))
    sessions.write(tmp_path / "journals", "b", slower(0.02), records.context(machine=INTEL))
    assert portable(tmp_path / "journals", "--all") == 0
    assert len(store.read(records.case(), PORTABLE).sessions) == 1


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


def test_no_case_is_removed_while_a_record_is_damaged(store, tmp_path, capsys):
    other = records.case("training-jax-mnist-cnn-digits28-cpu-quick")
    path = sessions.write(tmp_path, "a", case=other)
    path.write_bytes(path.read_bytes() + b'{"run": {"case"\n')
    assert main(["baseline", "prune", "--not-in", str(path), "--yes"]) == 2
    assert "what they measured is not known: nothing is removed" in capsys.readouterr().err
    assert store.read(records.case(), records.machine())


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


# Damage and merges


def add(store, session, *more):
    """A baseline with these sessions, as a branch has saved it."""
    found = records.baseline(sessions=(session, *more), anchor=session.id)
    store.write(found)
    return store.path(records.case(), records.machine())


def in_conflict(store):
    """Two branches have each added a session to one that both had."""
    first = records.baseline_session(name="first", saved="2026-11-01T10:00:00+00:00")
    ours = records.baseline_session(name="ours", saved="2026-11-02T10:00:00+00:00")
    theirs = records.baseline_session(name="theirs", saved="2026-11-03T10:00:00+00:00")
    texts = [add(store, first, session).read_bytes() for session in (ours, theirs)]
    path = store.path(records.case(), records.machine())
    path.write_bytes(b"<<<<<<< HEAD\n" + texts[0] + b"=======\n" + texts[1] + b">>>>>>> theirs\n")
    return path


def repair(path, *options):
    return main(["baseline", "repair", str(path), *options])


def test_a_repaired_conflict_has_the_sessions_of_both_sides(store, capsys):
    path = in_conflict(store)
    assert repair(path, "--yes") == 0
    assert [session.id for session in store.read(records.case(), records.machine()).sessions] == [
        "first",
        "ours",
        "theirs",
    ]
    assert "2 sessions of the first side and 2 of the second side become 3" in capsys.readouterr().out


def test_a_conflict_with_a_damaged_side_is_not_repaired(store, capsys):
    path = in_conflict(store)
    path.write_bytes(path.read_bytes().replace(b'"id":"theirs"', b'"id":"edited"'))
    before = path.read_bytes()
    assert repair(path, "--yes") == 1
    assert "the second side: something was changed after it was saved" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_file_that_was_edited_on_purpose_is_repaired_with_a_new_checksum(store, capsys):
    path = store.path(records.case(), records.machine())
    path.write_text(path.read_text().replace("first baseline", "edited"))
    before = path.read_bytes()
    assert repair(path) == 0
    assert "would be repaired: its content is accepted as it is" in capsys.readouterr().out
    assert path.read_bytes() == before
    assert repair(path, "--yes") == 0
    assert store.read(records.case(), records.machine()).sessions[0].reason == "edited"


def test_an_intact_file_needs_no_repair(store, capsys):
    path = store.path(records.case(), records.machine())
    before = path.read_bytes()
    assert repair(path, "--yes") == 0
    assert (capsys.readouterr().out, path.read_bytes()) == ("", before)


@pytest.mark.parametrize("content", [b"{", b'{"format": 3}', b'{"format": 99}'])
def test_what_is_damaged_otherwise_is_not_repaired(store, capsys, content):
    path = store.path(records.case(), records.machine())
    path.write_bytes(content)
    assert repair(path, "--yes") == 1
    assert "restore it from version control" in capsys.readouterr().err
    assert path.read_bytes() == content


def test_a_missing_file_is_named_and_no_folder_is_made(store, tmp_path, capsys):
    assert repair(tmp_path / "typo" / "case.json", "--yes") == 1
    assert "typo/case.json: there is no such file" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()


def test_a_damaged_baseline_accepts_no_session(store, tmp_path, capsys):
    damaged = store.path(records.case(), records.machine())
    damaged.write_bytes(b"{")
    assert accept(sessions.write(tmp_path, "a")) == 1
    assert f"{damaged}, line 1: not complete JSON" in capsys.readouterr().err.replace(
        "baselines/", f"{tmp_path}/baselines/"
    )
    assert damaged.read_bytes() == b"{"


def test_a_gain_that_is_too_good_to_be_true_is_accepted_only_on_request(store, tmp_path, capsys):
    path = sessions.write(tmp_path, "a", records.runs(steps=(0.0001,) * 3))
    assert accept(path) == 1
    assert "step_time is 100 times as good as before" in capsys.readouterr().err
    assert len(store.read(records.case(), records.machine()).sessions) == 1
    assert accept(path, "--allow", "suspect") == 0
    assert len(store.read(records.case(), records.machine()).sessions) == 2


def portable(path, *options):
    return main(["baseline", "portable", str(path), "--reason", "the first figures", *options])


def test_what_does_not_depend_on_the_machine_is_stored_of_recorded_sessions(store, tmp_path, capsys):
    runs = [replace(run, invalid=(NotTimed(),)) for run in records.runs(steps=(3.0,) * 3)]
    assert portable(sessions.write(tmp_path, "a", runs), "--all") == 0
    (session,) = store.read(records.case(), PORTABLE).sessions
    assert session.values["accuracy"] == (0.95, 0.95, 0.95)
    assert "step_time" not in session.medians
    assert f"baselines/portable/{CASE}.json" in capsys.readouterr().out


def test_runs_that_nothing_examined_are_refused(store, tmp_path, capsys):
    runs = [replace(run, invalid=(NotExamined(said="KeyboardInterrupt"),)) for run in records.runs()]
    assert portable(sessions.write(tmp_path, "a", runs), "--all") == 1
    assert "nothing examined" in capsys.readouterr().err
    assert store.read(records.case(), PORTABLE) is None


def test_runs_that_failed_or_are_too_few_are_refused(store, tmp_path, capsys):
    failed = (*records.runs()[:2], records.unfinished(RunOutcome.DIVERGED, "the loss became nan", seed=3))
    assert portable(sessions.write(tmp_path, "a", failed, outcome=CaseOutcome.DIVERGED), "--case", CASE) == 1
    assert "refused" in capsys.readouterr().err
    assert portable(sessions.write(tmp_path, "b", records.runs()[:2]), "--all") == 1
    assert store.read(records.case(), PORTABLE) is None


def test_portable_needs_to_know_which_cases(store, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        portable(sessions.write(tmp_path, "a", records.runs()))
    assert "--all" in capsys.readouterr().err
