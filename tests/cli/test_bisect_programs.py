"""``dlbench bisect --rev`` for a test that measures a program: a real repository whose commits do more arithmetic."""

import json
import sys

import pytest

from pytest_dlbench.cli.main import main
from tests.doubles.repositories import commit, create

PROGRAM = """
def build(run):
    amount = {amount} * run.parameters["depth"]
    weights = {{"sum": 0.0}}

    def step(number):
        weights["sum"] = float(sum(range(amount)))
        return weights["sum"] / (number + 1)

    return {{"step": step, "evaluate": lambda: {{"accuracy": 0.5}}}}
"""
TEST = """
import pytest

@pytest.mark.parametrize("depth", [1, 2])
def test_ours(dlbench, depth):
    result = dlbench.measure("programs/ours.py", steps=20, depth=depth)
    assert not result, "a search only asks what is measured"

def test_other():
    pass

def test_wrong(dlbench):
    raise ValueError("no measurement")
"""
FAST, SLOW = PROGRAM.format(amount=10_000), PROGRAM.format(amount=40_000)
BROKEN = "raise RuntimeError('not yet')\n"
USUAL = ("--tolerance", "40%", "--max-runs", "15", "--allow", "invalid")


@pytest.fixture
def bisect(tmp_path, monkeypatch, capsys):
    """Bisect commits, each with another program (None for none); the exit status, both outputs, the commits' ids."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Of the session around this one.
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "test_loops", raising=False)
    folder = create(tmp_path / "ours")
    monkeypatch.chdir(folder)

    def call(*programs, test="test_loops.py::test_ours[1]", options=USUAL):
        ids = []
        for number, program in enumerate(programs):
            (folder / "programs" / "ours.py").unlink(missing_ok=True)
            files = {"programs/ours.py": program} if program else {}
            files |= {"test_loops.py": TEST, ".gitignore": ".dlbench\n__pycache__\n", "pytest.ini": "[pytest]\n"}
            ids.append(commit(folder, f"Change {number}", files))
        status = main(["bisect", "--rev", f"{ids[0]}..HEAD", *test.split(), *options])
        out, err = capsys.readouterr()
        return status, out, err, [one[:12] for one in ids]

    return call


def test_the_first_slower_commit_is_found(bisect):
    status, out, _, ids = bisect(FAST, FAST, SLOW, SLOW, options=(*USUAL, "--json"))
    found = json.loads(out)
    assert status == 0
    assert (found["last_good"], found["first_bad"]) == (ids[1], [ids[2]])
    assert f"revision {ids[1]} (Change 1) → {ids[2]} (Change 2)" in found["differences"]
    assert any(line.startswith("file programs/ours.py") for line in found["differences"])
    assert (found["framework"], found["case"]) == ("", "test_loops.py::test_ours[1]")


def test_commits_that_cannot_run_are_skipped_and_remain_suspects(bisect):
    status, out, _, ids = bisect(FAST, BROKEN, None, SLOW)
    assert status == 3
    shown = " ".join(out.split())
    assert f"{ids[1]} skipped run 1 (seed 1)" in shown
    assert "has no programs/ours.py" in shown
    assert f"the first bad commit: {ids[1]} (Change 1) or {ids[2]} (Change 2) or {ids[3]} (Change 3)" in shown


def test_environments_are_searched_with_a_test_too(bisect, tmp_path, capsys):
    bisect(PROGRAM.replace("{amount}", "int(__import__('os').environ['AMOUNT'])").format(), test="test_none.py")
    for name, amount in {"old": 10_000, "middle": 10_000, "new": 40_000}.items():
        python = tmp_path / name
        python.write_text(f'#!/bin/sh\nAMOUNT={amount} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
    ends = ("--good", str(tmp_path / "old"), "--bad", str(tmp_path / "new"), "--among", str(tmp_path / "middle"))
    assert main(["bisect", "pytorch", *ends, "test_loops.py::test_ours[1]", *USUAL, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["last_good"], found["first_bad"]) == (str(tmp_path / "middle"), [str(tmp_path / "new")])


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("test_loops.py::test_ours", "has several cases; name a test with one, out of test_loops.py::test_ours[1], "),
        ("test_loops.py::test_other", "no test of it calls dlbench.measure or dlbench.train"),
        ("test_loops.py::test_wrong", "ValueError: no measurement"),
        ("test_nowhere.py", "no test of it calls"),
        (
            "pytorhc test_loops.py::test_ours[1]",
            "test_loops.py::test_ours[1] runs current, not pytorhc; with --rev name",
        ),
        ("ours-softmax-digits-cpu", "expected --rev GOOD..BAD TEST, or FRAMEWORK and a TEST or CASE"),
    ],
)
def test_a_test_without_one_case_is_a_usage_error_that_runs_nothing(bisect, tmp_path, test, message):
    status, _, err, _ = bisect(FAST, SLOW, test=test)
    assert status == 2
    assert message in " ".join(err.split())
    assert not list(tmp_path.glob("ours/.dlbench/*.jsonl"))
