"""--dlbench-ab on two revisions of a repository, on its settings, and on environment variables."""

import json

import pytest

from tests.doubles.repositories import commit, create, git
from tests.plugin.conftest import BUILDERS, CONFTEST

# Wide enough for few pairs to decide.
WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:20%", "--dlbench-allow=invalid")
BUILDER = """
import numpy as np
import {double}
from {double} import SUPPORTS, configure, threads, versions
from ours.layers import extra


class Trainer({double}.Trainer):
    def step(self, number):
        extra()
        return super().step(number)
"""
# What the sessions of a test write.
IGNORED = ".dlbench\n__pycache__\n*.xml\n*.json\n*.html\n*.md\nstdout\nstderr\nrunpytest-*\n"
EXTRA = """
import numpy as np


def extra():
    for _ in range({times}):
        np.ones((200, 200)) @ np.ones((200, 200))
"""


@pytest.fixture
def repository(suite):
    """A repository with a suite and a builder, which imports the repository's own package."""
    create(suite.path)
    text = CONFTEST.format(
        folder=str(BUILDERS), frameworks={"ours": "our_builder"}, names=["ours"], models=["softmax"], rate=0.1
    )
    folders = f"(Path({str(BUILDERS)!r}), Path(__file__).parent / 'bench')"
    suite.conftest = text.replace(f"(Path({str(BUILDERS)!r}),)", folders)
    write(suite, double="clocked")
    commit(suite.path, "Add the builder", {".gitignore": IGNORED})
    return suite


def write(suite, *, double="clocked", times=0):
    (suite.path / "bench").mkdir(exist_ok=True)
    (suite.path / "ours").mkdir(exist_ok=True)
    (suite.path / "ours/__init__.py").touch()
    (suite.path / "bench/our_builder.py").write_text(BUILDER.format(double=double))
    (suite.path / "ours/layers.py").write_text(EXTRA.format(times=times))


def result_of(suite):
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    (result,) = (line["result"] for line in lines if line.get("result"))
    return result, [line["run"] for line in lines if line.get("run")]


def test_a_commit_that_does_more_arithmetic_is_found(repository):
    write(repository, double="numpy_softmax")
    commit(repository.path, "Build with NumPy", {})
    write(repository, double="numpy_softmax", times=10)
    commit(repository.path, "Multiply more", {})
    result = repository.run("--dlbench-ab=rev:HEAD~1,rev:HEAD", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "regressed: training-ours@HEAD-softmax-digits-cpu-smoke",
            "compared with ours@HEAD_1 (HEAD~1 is *: Build with NumPy) in * pairs, and * fresh ones to confirm *",
            "*step_time *regressed *",
            "what differs between baseline and candidate:",
            "  revision * (Build with NumPy) → * (Multiply more)",
        ]
    )


def test_the_record_names_both_revisions(repository):
    write(repository, times=1)
    (repository.path / "new.py").touch()
    result = repository.run("--dlbench-ab=rev:HEAD,worktree", *WIDE)
    assert result.ret == 0
    reported, runs = result_of(repository)
    head = git(repository.path, "rev-parse", "HEAD")
    assert reported["pairing"]["old"]["revision"] == {
        "name": "HEAD",
        "commit": head,
        "subject": "Add the builder",
        "uncommitted": [],
    }
    assert reported["case"]["revision"]["uncommitted"] == ["new.py", "ours/layers.py"]
    assert not reported["pairing"]["is_aa"]
    versions = {run["versions"]["revision"] for run in runs}
    named = f"{head[:12]} (Add the builder)"
    assert versions == {named, f"{named} with changes in new.py, ours/layers.py"}


@pytest.mark.parametrize(("sides", "named"), [("rev:main,rev:HEAD", "HEAD"), ("rev:HEAD,rev:HEAD", "HEAD@A-A")])
def test_one_commit_on_both_sides_is_an_aa_test(repository, sides, named):
    result = repository.run(f"--dlbench-ab={sides}", *WIDE)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"ours@{named}-softmax-digits-cpu *passed (A/A)*"])


def test_uncommitted_changes_that_are_on_neither_side_are_a_warning(repository):
    write(repository, times=1)
    repository.run("--dlbench-ab=rev:HEAD,rev:HEAD", *WIDE)
    reported, _ = result_of(repository)
    assert {"kind": "left_out", "files": ["ours/layers.py"]} in reported["cautions"]


def test_a_test_that_names_its_framework_runs_on_both_sides(repository):
    test = "def test_ours(dlbench):\n    dlbench.train('ours', 'softmax', 'digits')\n"
    (repository.path / "test_suite.py").write_text(test)
    commit(repository.path, "Name it", {})
    repository.run("--dlbench-ab=rev:HEAD~1,rev:HEAD", *WIDE)
    reported, _ = result_of(repository)
    assert [reported["pairing"]["old"]["framework"], reported["case"]["framework"]] == ["ours@HEAD_1", "ours@HEAD"]


def test_reports_name_the_revisions(repository, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(repository.path / "summary.md"))
    write(repository, double="slowed")
    commit(repository.path, "Slow down", {})
    files = ("--junitxml=junit.xml", "--dlbench-json=found.json", "--dlbench-html=page.html")
    assert repository.run("--dlbench-ab=rev:HEAD~1,rev:HEAD", *WIDE, *files).ret == 1
    head = git(repository.path, "rev-parse", "--short=12", "HEAD")
    junit = (repository.path / "junit.xml").read_text()
    assert f'name="dlbench_revision" value="HEAD is {head}: Slow down"' in junit
    assert 'name="dlbench_baseline_revision" value="HEAD~1 is ' in junit
    for name in ("found.json", "page.html", "summary.md"):
        text = (repository.path / name).read_text().replace("\\", "")
        assert "Slow down" in text, name
        assert "Add the builder" in text, name


def test_a_plan_shows_what_would_run_and_runs_nothing(repository):
    result = repository.run("--dlbench-ab=rev:HEAD,worktree", "--dlbench-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["ours@worktree-softmax-digits-cpu *runs*"])
    assert not list(repository.path.glob(".dlbench/*.jsonl"))


def test_a_suite_in_a_part_of_the_repository_is_compared(suite, repository):
    (suite.path / "part").mkdir()
    for name in ("conftest.py", "test_suite.py"):
        text = (
            (suite.path / name).read_text().replace("__file__).parent / 'bench'", "__file__).parent.parent / 'bench'")
        )
        (suite.path / "part" / name).write_text(text)
        (suite.path / name).unlink()
    (suite.path / "part/pytest.ini").write_text("[pytest]\n")
    commit(suite.path, "Move the suite", {})
    result = suite.pytester.runpytest_subprocess(
        "--dlbench-scale=smoke", "--rootdir=part", "part", "--dlbench-ab=rev:HEAD,worktree", *WIDE
    )
    result.stdout.fnmatch_lines(["ours@worktree-softmax-digits-cpu *passed (A/A)*"])


def test_a_module_that_is_not_of_the_revision_is_a_wrong_version(repository):
    # As an editable installation does with a package outside the root and src.
    (repository.path / "python").mkdir()
    (repository.path / "python/helper.py").touch()
    text = f"import sys\nsys.path.insert(0, {str(repository.path / 'python')!r})\nimport helper\n"
    (repository.path / "bench/our_builder.py").write_text(text + BUILDER.format(double="clocked"))
    commit(repository.path, "Import it", {})
    result = repository.run("--dlbench-ab=rev:HEAD~1,rev:HEAD", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["wrong_version: training-ours@HEAD-*", "*: helper: imported from *, as it is, and not from the revision HEAD"]
    )


def test_a_framework_whose_builder_is_elsewhere_is_the_same_in_all_revisions(suite):
    create(suite.path)
    commit(suite.path, "Add a suite", {})
    result = suite.run("--dlbench-ab=rev:HEAD,worktree", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*all revisions are the same for numpy: its builder is not in *"])


def test_a_revision_without_the_builder_is_an_error_that_names_it(repository):
    git(repository.path, "mv", "bench/our_builder.py", "bench/other.py")
    commit(repository.path, "Rename it", {})
    git(repository.path, "revert", "--no-edit", "HEAD")
    result = repository.run("--dlbench-ab=rev:HEAD~1,rev:HEAD")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*HEAD~1 (*, 'Rename it') has no bench/our_builder.py; to find *"])


@pytest.mark.parametrize(
    ("sides", "line"),
    [
        ("rev:HEAD,rev:nowhere", "ERROR: --dlbench-ab: 'nowhere' is no revision of *"),
        (
            "rev:HEAD,rev:HEAD+nothing==1",
            "*'HEAD+nothing==1' is no revision of *, and no side of 'HEAD': expected * after the +, got 'nothing==1'",
        ),
        ("rev:HEAD,ours", "ERROR: --dlbench-ab: both sides need a revision; 'worktree' is your files as they are"),
        ("rev:HEAD+worktree,rev:HEAD", "ERROR: --dlbench-ab: a side is of one revision, got 'HEAD' and 'worktree'"),
        ("env:A,env:A=1", "ERROR: --dlbench-ab: env:A: expected NAME=VALUE, such as env:OMP_PROC_BIND=close"),
    ],
)
def test_a_side_that_cannot_be_is_a_usage_error(repository, sides, line):
    result = repository.run(f"--dlbench-ab={sides}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([line])


# Settings and variables


def test_a_variable_is_a_side(suite):
    suite.write(builder="versioned")
    v1 = "env:DOUBLE_VERSION=1"
    result = suite.run(f"--dlbench-ab={v1}+env:DOUBLE_FACTOR=1,{v1}+env:DOUBLE_FACTOR=3", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["regressed: training-numpy@DOUBLE_VERSION=1+DOUBLE_FACTOR=3-*", "  variable DOUBLE_FACTOR 1 → 3"]
    )
    assert result_of(suite)[0]["case"]["variables"] == {"DOUBLE_VERSION": "1", "DOUBLE_FACTOR": "3"}


def test_a_setting_is_a_side(suite):
    result = suite.run("--dlbench-ab=set:learning_rate=0.1,set:learning_rate=0.2", "--dlbench-max-runs=3", *WIDE)
    reported, _ = result_of(suite)
    assert reported["pairing"]["old"]["settings"] == {"learning_rate": 0.1}
    assert reported["case"]["settings"] == {"learning_rate": 0.2}
    assert reported["case"]["id"] == "training-numpy@learning_rate0.2-softmax-digits-cpu-smoke"
    assert not reported["pairing"]["is_aa"]
    result.stdout.fnmatch_lines(["numpy@learning_rate0.2-softmax-digits-cpu *"])


def test_a_setting_that_no_recipe_has_is_an_error(suite):
    # A program may have a parameter of that name, so that only the test knows.
    result = suite.run("--dlbench-ab=set:batch_sise=64,set:batch_size=32")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["--dlbench-ab: set: unknown setting 'batch_sise'", "  did you mean 'batch_size'?"])


def test_sides_with_other_batches_are_compared_by_examples_and_not_by_steps(suite):
    # A step takes 2 ms, whatever its batch.
    result = suite.run("--dlbench-ab=set:batch_size=64,set:batch_size=32", "--dlbench-tolerance=accuracy:50pp", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*throughput *regressed *ratio 0.5*", "  batch_size 64 → 32"])
    judged = {verdict["metric"] for verdict in result_of(suite)[0]["verdicts"]}
    assert "throughput" in judged
    assert not judged & {"step_time", "step_time_median"}
