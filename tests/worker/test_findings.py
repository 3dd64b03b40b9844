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


def documented() -> dict[str, str]:
    """What the page says that each framework's program prints."""
    return dict(re.findall(r"<!-- output: (\S+) -->\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL))


def test_every_finding_has_a_program_and_every_program_is_tested():
    assert documented().keys() == PROGRAMS.keys()
    assert {file.stem for file in (ROOT / "bench" / "findings").glob("*.py")} == set(PROGRAMS.values())
    assert all(f"bench/findings/{name}.py" in PAGE.read_text() for name in PROGRAMS.values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_framework_still_computes_what_was_found(name):
    place = place_of(name, "findings")
    program = ROOT / "bench" / "findings" / f"{PROGRAMS[name]}.py"
    variables = launch.environment(FRAMEWORKS[name], place, device="cpu", threads=1)
    done = subprocess.run(
        [place.python, program], env=variables, capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout == documented()[name]
