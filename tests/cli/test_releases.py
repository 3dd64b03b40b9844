"""``dlbench releases``, as a user calls it, with tests that write the journal of a session in place of training."""

import json
import textwrap

import pytest

from pytest_dlbench.cli.main import main

BENCH = """
    from dataclasses import replace
    from pathlib import Path

    from pytest_dlbench.records import CaseOutcome, VerdictOutcome
    from pytest_dlbench.storing import Entry, Journal
    from tests.doubles.judged import both_sides, write_pairs
    from tests.doubles.records import verdict

    OUTCOMES = {outcomes!r}

    def test_it(pytestconfig):
        folder = Path(pytestconfig.getoption("dlbench_journals"))
        step = folder.parent if folder.name == "again" else folder
        # Without the digest of the command's arguments.
        releases = step.name.partition("-")[0]
        said = OUTCOMES[releases].split()[folder.name == "again"]
        with Path("sessions.txt").open("a") as file:
            print(releases + "/again" * (folder.name == "again"), file=file)
        if said == "nothing":
            return
        changed = verdict() if said == "regressed" else verdict(outcome=VerdictOutcome.EQUIVALENT)
        journal = Journal(folder)
        old, new = pytestconfig.getoption("dlbench_ab").split(",")
        outcome = CaseOutcome("passed" if said == "killed" else said)
        sides = both_sides(old, new, step=0.02, outcome=outcome, verdicts=(changed,))
        write_pairs(journal, sides)
        if said not in ("crashed", "killed"):
            journal.append(Entry(ended="2026-11-25T12:00:00"))
"""


@pytest.fixture
def releases(tmp_path, monkeypatch, capsys):
    """Call the command on MLX, whose cases end as it is said; returns status, output, and the sessions that ran."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")

    def call(outcomes, *options):
        (tmp_path / "test_it.py").write_text(textwrap.dedent(BENCH.replace("{outcomes!r}", repr(outcomes))))
        among = list(dict.fromkeys(version for step in outcomes for version in step.split("..")))
        status = main(["releases", "mlx", "--among", ",".join(among), "--bench", "test_it.py", *options])
        log = tmp_path / "sessions.txt"
        ran = log.read_text().split() if log.exists() else []
        return status, capsys.readouterr().out, ran

    return call


def test_each_release_is_compared_with_the_one_before_and_an_undecided_case_is_status_3(releases):
    status, out, ran = releases({"0.32.2..0.32.3": "passed", "0.32.3..0.32.4": "inconclusive"})
    assert status == 3
    assert ran == ["0.32.2..0.32.3", "0.32.3..0.32.4"]
    assert "0.32.2 → 0.32.3\n  training-mlx==0.32.3-tartu-mnist-cnn-digits28-cpu: passed\n    step_time" in out
    assert "0.32.3 → 0.32.4\n  training-mlx==0.32.4-tartu-mnist-cnn-digits28-cpu: inconclusive\n" in out
    assert out.endswith("\n2 cases: 1 passed, 1 inconclusive; exit status 3\n")


def test_a_regression_that_a_second_session_confirms_fails(releases):
    status, out, ran = releases({"0.32.3..0.32.4": "regressed regressed"})
    assert status == 1
    assert ran == ["0.32.3..0.32.4", "0.32.3..0.32.4/again"]
    assert "cpu: regressed\n" in out
    assert "    again:\n    step_time        regressed" in out


def test_what_has_ended_is_not_run_again_and_what_was_interrupted_goes_on(releases):
    releases({"0.32.2..0.32.3": "passed", "0.32.3..0.32.4": "crashed"})
    status, out, ran = releases({"0.32.2..0.32.3": "passed", "0.32.3..0.32.4": "passed"})
    assert ran == ["0.32.2..0.32.3", "0.32.3..0.32.4", "0.32.3..0.32.4"]
    assert "--dlbench-resume" in out
    assert status == 0


def test_a_comparison_in_which_a_case_did_not_finish_is_run_again_as_a_new_session(releases):
    status, _, _ = releases({"0.32.3..0.32.4": "failed"})
    assert status == 1
    status, out, ran = releases({"0.32.3..0.32.4": "passed"})
    assert (status, ran) == (0, ["0.32.3..0.32.4"] * 2)
    assert "cpu: passed" in out
    releases({"0.32.3..0.32.4": "passed"})
    assert releases({"0.32.3..0.32.4": "passed"})[2] == ran


def test_a_regression_that_a_second_session_does_not_find_is_unconfirmed_also_in_json(releases):
    status, out, _ = releases({"0.32.3..0.32.4": "regressed passed"}, "--json")
    assert status == 3
    (step,) = json.loads(out)
    assert (step["old"], step["new"]) == ("0.32.3", "0.32.4")
    assert [case["outcome"] for case in step["cases"]] == ["unconfirmed"]
    assert step["cases"][0]["verdicts"][0]["metric"] == "step_time"


def test_a_session_that_compares_nothing_fails(releases, tmp_path):
    status, out, _ = releases({"0.32.3..0.32.4": "passed"}, "--pytest=-k nothing")
    assert status == 1
    assert "0.32.3 → 0.32.4: nothing was compared; see what pytest printed" in out


@pytest.mark.parametrize(
    ("said", "problem"),
    [("nothing", ": nothing was compared; see what pytest printed"), ("killed", ": the session did not end; repeat")],
)
def test_one_session_that_compares_nothing_or_does_not_end_fails(said, problem, releases):
    status, out, _ = releases({"0.32.2..0.32.3": "passed", "0.32.3..0.32.4": said})
    assert status == 1
    assert f"0.32.3 → 0.32.4{problem}" in out
    assert "0.32.2 → 0.32.3\n" in out


def test_other_arguments_are_another_comparison(releases):
    passed = {"0.32.3..0.32.4": "passed"}
    releases(passed, "--pytest=--dlbench-scale=smoke")
    *_, ran = releases(passed, "--pytest=--dlbench-scale=quick")
    assert len(ran) == 2
    assert releases(passed, "--pytest=--dlbench-scale=smoke")[2] == ran


def test_a_damaged_journal_is_status_1_and_the_summary_says_so(releases, tmp_path):
    releases({"0.32.3..0.32.4": "passed"})
    (journal,) = (tmp_path / ".dlbench/releases/mlx").glob("0.32.3..0.32.4-*/*.jsonl")
    journal.write_bytes(journal.read_bytes() + b'{"format": \n')
    status, out, _ = releases({"0.32.3..0.32.4": "passed"})
    assert status == 1
    assert out.endswith("\n1 case: 1 passed; exit status 1\n")


def test_a_plan_lists_the_commands_and_runs_nothing(releases):
    status, out, ran = releases({"0.32.3..0.32.4": "passed"}, "--plan", "--pytest=--dlbench-scale=smoke")
    assert (status, ran) == (0, [])
    assert out.startswith("0.32.3 → 0.32.4: pytest test_it.py --dlbench-ab=mlx==0.32.3,mlx==0.32.4 --dlbench-build")
    assert out.endswith("--dlbench-scale=smoke\n")


def test_releases_of_a_dependency_leave_the_other_pins_as_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["releases", "mlx", "--of", "numpy", "--among", "2.4.5,2.4.6", "--plan"]) == 0
    # Without the folder of this machine, since journals name the flags with which a case is run again.
    sides = (f"mlx@.dlbench/releases/mlx-numpy/numpy-{version}.txt" for version in ("2.4.5", "2.4.6"))
    assert f"--dlbench-ab={','.join(sides)} " in capsys.readouterr().out
    old, new = (tmp_path / ".dlbench/releases/mlx-numpy" / f"numpy-{version}.txt" for version in ("2.4.5", "2.4.6"))
    assert old.read_text().replace("numpy==2.4.5", "numpy==2.4.6") == new.read_text()
    assert "mlx==" in new.read_text()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["mlx", "--among", "0.32.4"], "expected at least two releases to compare, got 0.32.4"),
        (["mlx", "--among", "0.32.4,0.32.3"], "expected the oldest version first"),
        (["mlx", "--of", "scipy", "--among", "1.1,1.2"], "--of scipy: mlx pins mlx, mlx-cpu, numpy"),
        (["mlx", "--last", "0"], "--last: expected 2 or more releases to compare, got 0"),
        (["mlxx"], "did you mean"),
        (["tinygrad", "--among", "0.12.0,0.14.0"], "serves tinygrad>=0.14, not 0.12.0; the nearest is tinygrad==0.14"),
        (["mlx", "--among", "1.x,2"], "--among: Invalid version: '1.x'"),
    ],
    ids=["one", "order", "no dependency", "none", "unknown", "not served", "no version"],
)
def test_wrong_arguments_are_usage_errors_that_say_what_is_right(words, problem, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["releases", *words]) == 2
    assert problem in capsys.readouterr().err
