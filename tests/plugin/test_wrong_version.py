"""Environments that do not have what was requested, in real workers: nothing is trained, and no test passes."""

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from pytest_dlbench.environments import Environment
from pytest_dlbench.environments.building import STAMP
from tests.environments.conftest import HERE
from tests.plugin.conftest import BUILDERS

REAL = metadata.version("numpy")
WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")
CONFTEST = f"""
from pathlib import Path
from pytest_dlbench.environments import Environment, Framework

def pytest_dlbench_frameworks():
    environment = Environment(name="envnp", python={HERE!r}, requirements=("numpy==1.26.4",))
    return [Framework(name="envnp", builder="clocked", folders=(Path({str(BUILDERS)!r}),), package="numpy",
                      needs=("nobody-has-this",), environments=(environment,))]
"""


def build(root: Path, *requirements: str) -> None:
    """A built environment with these pins, in which NumPy is really the one of this Python."""
    folder = root / Environment(name="envnp", python=HERE, requirements=requirements).folder_name
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "numpy-of-the-tests.pth").write_text(f"{Path(np.__file__).parents[1]}\n")
    (folder / "caches").mkdir()
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    content = {"tool": "tests", "interpreter": sys.executable, "seconds": 1, "bytes": 1, "finished": finished}
    (folder / STAMP).write_text(json.dumps({**content, "installed": []}))


@pytest.fixture
def environments(suite, cache):
    """Builds environments of the framework envnp."""
    (suite.path / "versioned_numpy.py").write_text(CONFTEST)
    suite.pytester.syspathinsert()
    suite.conftest = f"pytest_plugins = ['versioned_numpy']\n{suite.conftest}"

    def environments(*requirements):
        build(cache / "pytest-dlbench" / "environments", *requirements)

    return environments


def runs_and_results(suite):
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    return [line["run"] for line in lines if line.get("run")], [line["result"] for line in lines if line.get("result")]


def test_a_version_that_is_installed_passes(suite, environments):
    environments(f"numpy=={REAL}")
    suite.run(f"--dlbench-frameworks=envnp=={REAL}").assert_outcomes(passed=1)


def test_another_version_than_the_requested_one_fails_before_anything_is_trained(suite, environments):
    environments("numpy==1.26.4")
    result = suite.run("--dlbench-frameworks=envnp==1.26.4")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "wrong_version: training-envnp==1.26.4-softmax-digits-cpu-smoke",
            "*the environment 'envnp-*' of envnp==1.26.4 is not what it should be:",
            f"*numpy==1.26.4 was requested, {REAL} is installed",
            "*if it was changed after it was built, delete *; --dlbench-build builds it again",
        ]
    )
    ((run,), (judged,)) = runs_and_results(suite)
    assert (run["outcome"], judged["outcome"]) == ("wrong_version", "wrong_version")
    assert run["training"] is None


def test_a_requirements_file_that_is_not_met_fails(suite, environments):
    (suite.path / "pins.txt").write_text("numpy>=99  # not yet\n")
    environments("numpy>=99")
    result = suite.run("--dlbench-frameworks=envnp@pins.txt")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*numpy>=99 was requested, {REAL} is installed"])


def test_a_builder_that_reports_another_version_than_the_installed_one_fails_with_both(suite):
    suite.write(builder="reports_another_numpy")
    result = suite.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["wrong_version: training-numpy-*", f"*the builder reports numpy 1.0, but numpy {REAL} is installed"]
    )


def test_a_wrong_side_ends_an_ab_at_once(suite, environments):
    environments("numpy==1.26.4")
    environments(f"numpy=={REAL}")
    result = suite.run(f"--dlbench-ab=envnp==1.26.4,envnp=={REAL}", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*the baseline, envnp==1.26.4, did not finish (wrong_version):", f"*numpy==1.26.4 was requested, {REAL} is *"]
    )
    runs, _ = runs_and_results(suite)
    assert len(runs) <= 2


def test_two_sides_asked_for_different_versions_that_have_the_same_end_an_ab_at_once(suite, environments):
    for name, pin in (("old", "numpy>=1.0"), ("new", "numpy>=1.1")):
        (suite.path / f"{name}.txt").write_text(f"{pin}\n")
        environments(pin)
    result = suite.run("--dlbench-ab=envnp@old.txt,envnp@new.txt", *WIDE)
    assert result.ret == 1
    both = f"numpy>=1.0 for envnp@old, numpy>=1.1 for envnp@new, and both have {REAL}"
    result.stdout.fnmatch_lines(["wrong_version: *", f"*asked for different versions and have the same: {both}"])
    runs, _ = runs_and_results(suite)
    assert [run["outcome"] for run in runs] == ["finished", "wrong_version"]
    assert runs[1]["training"] is None


def test_an_aa_test_is_allowed_and_labelled(suite, environments):
    environments(f"numpy=={REAL}")
    sides = f"--dlbench-ab=envnp=={REAL},envnp=={REAL}"
    result = suite.run(sides, "--junitxml=junit.xml", "--dlbench-html=page.html", *WIDE)
    assert result.ret == 0
    _, (judged,) = runs_and_results(suite)
    assert judged["pairing"]["is_aa"]
    assert judged["case"]["framework"] == f"envnp=={REAL}@A-A"
    result.stdout.fnmatch_lines(["*passed (A/A)*", "warning: *A/A test: both sides had the same versions*"])
    assert 'name="dlbench_aa" value="True"' in (suite.path / "junit.xml").read_text()
    assert "passed (A/A)" in (suite.path / "page.html").read_text()
