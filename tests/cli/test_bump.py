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
        "no framework depends on what changed: nothing to run",
    ]


def test_two_files_with_the_same_name_are_copied_to_distinct_names(bump):
    _, out = bump(OLD, NEW, "--plan", names=("main/requirements.txt", "requirements.txt"))
    assert "/old.txt," in out


def test_a_json_plan_has_the_command_as_a_list(bump):
    status, out = bump(OLD, NEW, "--plan", "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["changes"] == [{"name": "torch", "old": "2.12.0", "new": "2.13.0"}]
    assert answer["frameworks"] == {"pytorch": ["torch"]}
    assert answer["command"][3:5] == ["bench", "--dlbench-ab=old.txt,new.txt"]


def test_json_without_a_plan_is_refused_where_tests_would_have_to_run(bump, capsys):
    assert bump(OLD, NEW, "--json")[0] == 2
    status, out = bump(OLD, OLD, "--json")
    assert (status, json.loads(out)["command"]) == (0, [])


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


WHEEL = "torch @ https://wheels.example/torch-{}-cp311-cp311-linux_x86_64.whl\nnumpy==2.4.6\n"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (WHEEL.format("2.12.0"), WHEEL.format("2.13.0"), "pytorch: affected by torch"),
        ("torch[opt]==2.12.0\n", "torch==2.12.0\n", "  torch  2.12.0 [opt] → 2.12.0"),
        ("torch==2.12.0\nnumpy>=2.1\n", "torch==2.12.0\nnumpy>=2.2\n", "pytorch: affected by numpy"),
        ("torch==2.12.0\nnumpy\n", "torch==2.12.0\nnumpy>=2\n", "  numpy  any version → >=2"),
    ],
    ids=["address", "extras", "range", "unpinned"],
)
def test_every_way_to_pin_is_compared(bump, old, new, line):
    status, out = bump(old, new, "--plan")
    assert status == 0
    assert line in out.splitlines()
    assert out.splitlines()[-1].startswith("to run it: pytest bench --dlbench-ab=")


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (
            "jax==0.9.0\njaxlib==0.9.0\n",
            "jax==0.10.2\njaxlib==0.10.2\n",
            ["NOT TESTED: jax  0.9.0 → 0.10.2", "  jax: optax is not pinned (in the old file)"],
        ),
        (
            "jaxlib==0.9.0\nnumpy==2.4.6\n",
            "jaxlib==0.10.2\nnumpy==2.4.6\n",
            ["NOT TESTED: jaxlib  0.9.0 → 0.10.2", "  jax: jax is not pinned (in the old file)"],
        ),
        (
            "torch==0.3\n",
            "torch==0.4\n",
            ["NOT TESTED: torch  0.3 → 0.4", "  pytorch: the builder serves torch>=1.0.1, not 0.3 (in the old file)"],
        ),
        (
            "jax>=0.4\noptax==0.2.8\n",
            "jax>=0.5\noptax==0.2.8\n",
            [
                "NOT TESTED: jax  >=0.4 → >=0.5",
                "  jax: jax>=0.4 leaves the version open: pin one, such as jax==VERSION (in the old file)",
            ],
        ),
        (
            "torch==2.12.0\n",
            "requests==2.32\n",
            ["NOT TESTED: torch  2.12.0 → removed", "  pytorch: torch is not pinned (in the new file)"],
        ),
        (
            "requests==2.31\n",
            "requests==2.32\n",
            [
                "NOT TESTED: requests  2.31 → 2.32",
                "  no framework: both files must pin one, in a version that its builder serves",
            ],
        ),
    ],
    ids=["companion", "companion alone", "not served", "range", "removed", "no framework"],
)
def test_a_change_that_cannot_be_tested_is_listed_with_its_reason_and_makes_status_3(bump, old, new, lines):
    status, out = bump(old, new)
    assert status == 3
    assert set(lines) <= set(out.splitlines())
    assert out.splitlines()[-1] == "nothing is run"


def test_an_untested_change_beside_a_tested_one_makes_status_3(bump):
    old = "torch==2.12.0\njax==0.9.0\njaxlib==0.9.0\n"
    status, out = bump(old, old.replace("2.12.0", "2.13.0").replace("0.9.0", "0.10.2"), "--plan", "--json")
    answer = json.loads(out)
    assert status == 3
    assert answer["frameworks"].keys() == {"pytorch"}
    assert answer["not_tested"].keys() == {"jax", "jaxlib"}


def test_what_another_framework_covers_is_tested(bump):
    old = "torch==2.12.0\nkeras==3.14.0\n"
    status, out = bump(old, old.replace("2.12.0", "2.13.0").replace("3.14.0", "3.15.1"), "--plan", "--json")
    assert status == 0
    assert json.loads(out)["not_tested"] == {}


def test_a_changed_marker_is_a_change(bump):
    old = "torch==2.12.0 ; python_version < '3.13'\n"
    _, out = bump(old, old.replace("3.13", "3.14"), "--plan")
    assert '  torch  torch==2.12.0 ; python_version < "3.13" → torch==2.12.0 ; python_version < "3.14"' in out


def test_passed_tests_do_not_hide_what_was_not_tested(tmp_path):
    (tmp_path / "old.txt").write_text("torch==2.12.0\njax==0.9.0\n")
    (tmp_path / "new.txt").write_text("torch==2.13.0\njax==0.10.2\n")
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    command = [sys.executable, "-c", "import sys; from pytest_dlbench.cli.main import main; sys.exit(main())", "bump"]
    done = subprocess.run(
        [*command, "old.txt", "new.txt", "--bench", "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "1 passed" in done.stdout
