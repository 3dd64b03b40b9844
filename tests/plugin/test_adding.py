"""docs/how-to/add-a-model.md: a model is one function and one line, and all else follows."""

import re
from pathlib import Path

import pytest

from tests.plugin.conftest import run_here

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-model.md"
AXES = ("--dlbench-models=two-convolutions", "--dlbench-scale=smoke")
TEST = """
def test_training(dlbench, framework, model, dataset, device):
    result = dlbench.train(framework, model, dataset, device)
    # Chance is 10 %; 20 steps reached 48 %.
    assert result.accuracy.mean > 0.2
"""


@pytest.fixture
def repository(pytester, cache, monkeypatch):
    """A repository with only the code of the page and a test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    pytester.makeconftest(code)
    pytester.makepyfile(test_training=TEST)
    return pytester


def test_the_plan_has_its_cases_with_parameters_and_multiply_adds(repository):
    result = run_here(
        repository, *AXES, "--dlbench-frameworks=pytorch,jax", "--dlbench-datasets=digits,synthetic", "--dlbench-plan"
    )
    # 8·9 + 8, 16·8·9 + 16 and 64·10 + 10 parameters; 64·72 + 4·1152 + 640 multiply-adds.
    result.stdout.fnmatch_lines(["*two-convolutions-digits-cpu*1.9? K*9.86 K*"])
    planned = [line for line in result.outlines if "two-convolutions" in line]
    assert len(planned) == 4


def test_it_is_trained_and_learns(repository):
    one = ("--dlbench-frameworks=pytorch", "--dlbench-datasets=digits", "--dlbench-runs=1", "--dlbench-allow=invalid")
    result = run_here(repository, *AXES, *one)
    result.assert_outcomes(passed=1)
