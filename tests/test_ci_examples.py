"""The workflows under docs/ci: valid YAML, made of jobs, and every command in them one that there is."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from pytest_dlbench.cli import main
from pytest_dlbench.options import OPTIONS

FOLDER = Path(__file__).parents[1] / "docs" / "ci"
EXAMPLES = sorted(FOLDER.glob("*/*.yml"))
FLAGS = {option.flag for option in OPTIONS}

examples = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")


def content(path):
    return yaml.safe_load(path.read_text())


def commands(path):
    """What the shell is given, a line each."""
    if path.parent.name == "github":
        steps = [step for job in content(path)["jobs"].values() for step in job["steps"]]
        scripts = [step["run"] for step in steps if "run" in step]
    else:
        scripts = [line for job in content(path).values() for line in [*job["script"], *job.get("after_script", [])]]
    return [line for script in scripts for line in script.splitlines()]


def test_both_services_have_all_examples():
    assert {(path.parent.name, path.stem) for path in EXAMPLES} == {
        (service, name) for service in ("github", "gitlab") for name in ("version-bump", "nightly", "resumed")
    }


@examples
def test_every_example_trains(path):
    assert any(line.startswith("pytest bench ") for line in commands(path))


@examples
def test_every_option_in_an_example_is_one_of_ours(path):
    named = set(re.findall(r"--dlbench-[a-z-]+", path.read_text()))
    assert named <= FLAGS


@examples
def test_every_dlbench_command_in_an_example_can_be_read(path):
    for line in commands(path):
        if line.startswith("dlbench "):
            main.parser().parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize("path", sorted((FOLDER / "github").glob("*.yml")), ids=lambda path: path.stem)
def test_a_github_job_has_a_machine_and_steps_that_use_or_run(path):
    for job in content(path)["jobs"].values():
        assert job["runs-on"]
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])


@pytest.mark.parametrize("path", sorted((FOLDER / "gitlab").glob("*.yml")), ids=lambda path: path.stem)
def test_a_gitlab_job_says_when_it_runs(path):
    assert all(job["rules"] for job in content(path).values())


@examples
def test_every_extra_that_an_example_installs_is_one_of_ours(path):
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text())["project"]
    installed = [
        extra for found in re.findall(r"pytest-dlbench\[([^]]+)\]", path.read_text()) for extra in found.split(",")
    ]
    assert installed
    assert set(installed) <= project["optional-dependencies"].keys()
