"""``dlbench bump``, as a user calls it."""

import json
import subprocess
import sys

import pytest

from pytest_dlbench.cli.main import main

OLD = "torch==2.12.0\n    # via app\nnumpy==2.4.6\n    # via torch\nrequests==2.32\n    # via app\n"
AB = "--dlbench-ab=old.txt,new.txt --dlbench-frameworks=pytorch --dlbench-build --dlbench-compare"
NEW = OLD.replace("2.12.0", "2.13.0")


@pytest.fixture
def bump(tmp_path, monkeypatch, capsys):
    """Call the command on two files with these texts; returns the exit status and the output."""
    monkeypatch.chdir(tmp_path)

    def call(old, new, *options, names=("old.txt", "new.txt")):
        for name, text in zip(names, (old, new), strict=True):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return main(["bump", *names, *options]), capsys.readouterr().out

    return call


def test_files_with_the_same_versions_are_a_success(bump):
    assert bump(OLD, OLD) == (0, "nothing changed: both files pin the same versions\n")


def test_hashes_and_comments_are_not_changes(bump):
    assert bump(OLD, OLD.replace("2.32", "2.32 \\\n  --hash=sha256:aa  # another wheel"))[0] == 0


def test_a_plan_lists_the_differences_and_the_command(bump):
    status, out = bump(OLD, NEW, "--plan", "--pytest=--dlbench-scale=smoke -x")
    assert status == 0
    assert out.splitlines() == [
        "what differs:",
        "  torch  2.12.0 → 2.13.0",
        "pytorch: affected by torch",
        f"to run it: pytest bench {AB} --dlbench-scale=smoke -x",
    ]


def test_a_change_that_no_framework_needs_runs_nothing(bump):
    status, out = bump(OLD, OLD.replace("2.32", "2.33"))
    assert status == 0
    assert out.splitlines()[-2:] == [
        "pytorch: not affected, skipped",
        "no framework that both files pin is affected: nothing to run",
    ]


def test_two_files_with_the_same_name_are_copied_to_distinct_names(bump):
    _, out = bump(OLD, NEW, "--plan", names=("main/requirements.txt", "requirements.txt"))
    assert "/old.txt," in out


def test_a_json_plan_has_the_command_as_a_list(bump):
    _, out = bump(OLD, NEW, "--json")
    answer = json.loads(out)
    assert answer["changes"] == [{"name": "torch", "old": "2.12.0", "new": "2.13.0"}]
    assert answer["frameworks"] == {"pytorch": ["torch"]}
    assert answer["command"][3:5] == ["bench", "--dlbench-ab=old.txt,new.txt"]


def test_an_unknown_framework_is_a_usage_error(bump):
    assert bump(OLD, NEW, "--frameworks", "pytorhc")[0] == 2


def test_the_exit_status_is_that_of_pytest(tmp_path):
    (tmp_path / "old.txt").write_text(OLD)
    (tmp_path / "new.txt").write_text(NEW)
    (tmp_path / "test_it.py").write_text(
        "def test_it(pytestconfig):\n    assert pytestconfig.getoption('dlbench_ab') != 'old.txt,new.txt'\n"
    )
    command = [sys.executable, "-c", "from pytest_dlbench.cli.main import main; main()", "bump", "old.txt", "new.txt"]
    done = subprocess.run(
        [*command, "--bench", "test_it.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "AssertionError: assert 'old.txt,new.txt' != 'old.txt,new.txt'" in done.stdout
