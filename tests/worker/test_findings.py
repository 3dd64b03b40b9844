"""Faults of frameworks that docs/explanation/findings.md reports: its programs print what the page says."""

import re
import subprocess
from pathlib import Path

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.running import launch
from tests.worker.places import place_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "findings.md"
PROGRAMS = {"pytorch-compile": "pytorch_layout", "jax": "jax_sums"}
# They print times and sizes, which no test compares.
MEASURED = {"jax_convolutions": "jax", "jax_autotuning": "jax", "tensorflow_libraries": "tensorflow"}


def documented() -> dict[str, str]:
    """What the page says that each framework's program prints."""
    return dict(re.findall(r"<!-- output: (\S+) -->\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL))


def test_every_finding_has_a_program_and_every_program_is_tested():
    assert documented().keys() == PROGRAMS.keys()
    programs = {*PROGRAMS.values(), *MEASURED}
    assert {file.stem for file in (ROOT / "bench" / "findings").glob("*.py")} == programs
    assert all(f"bench/findings/{name}.py" in PAGE.read_text() for name in programs)


def printed(name: str, program: str) -> str:
    """What a program prints in a framework's environment."""
    place = place_of(name, "findings")
    variables = launch.environment(FRAMEWORKS[name], place, device="cpu", threads=1)
    command = [place.python, ROOT / "bench" / "findings" / f"{program}.py"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_framework_still_computes_what_was_found(name):
    assert printed(name, PROGRAMS[name]) == documented()[name]


@pytest.mark.parametrize("program", MEASURED)
def test_what_was_worse_in_a_release_can_still_be_measured(program):
    found = dict(line.split(": ") for line in printed(MEASURED[program], program).splitlines()[1:])
    rows = re.findall(r"^\| ([^|]+)(?: \| [\d,]+ (?:µs|MiB))+ \|$", described(program), re.MULTILINE)
    assert list(found) == rows
    assert all(re.fullmatch(r"[1-9]\d* (µs|MiB)", figure) for figure in found.values())


def described(program: str) -> str:
    """The section of the page that names a program."""
    return next(part for part in PAGE.read_text().split("\n## ") if f"bench/findings/{program}.py" in part)
