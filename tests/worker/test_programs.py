"""Programs under the oldest and the newest Python, with nothing installed: the worker of programs needs no NumPy."""

import os

import pytest

from pytest_dlbench.environments.placing import Place
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running.training import train_once
from tests.running.test_programs import LOOP, STEP, spec
from tests.worker import interpreters

PLAIN = """
import random

def build(run):
    draw = random.Random(run.seed)
    weight = [0.0]

    def step(number):
        value = draw.gauss(0, 1)
        error = weight[0] * value - 3 * value
        weight[0] -= 0.1 * error * value
        return error ** 2

    return {"step": step, "evaluate": lambda: {"accuracy": float(abs(weight[0] - 3) < 1)}}
"""


@pytest.fixture(params=["3.6", "3.13"])
def place(request, tmp_path):
    return Place(
        python=interpreters.found(request.param).executable, environment=request.param, caches=tmp_path / "caches"
    )


def test_a_build_program_is_stepped(place, tmp_path):
    found = train_once(spec(tmp_path, PLAIN, place=place), 0)
    assert (found.outcome, found.message) == (RunOutcome.FINISHED, "")
    assert found.versions["python"].startswith(place.environment)
    assert found.reported.values == {"accuracy": 1.0}


def test_a_main_program_marks_its_steps(place, tmp_path):
    found = train_once(spec(tmp_path, LOOP, "main", place=place), 0)
    assert (found.outcome, found.message) == (RunOutcome.FINISHED, "")


def test_a_failure_has_the_frames_of_the_program(place, tmp_path):
    found = train_once(spec(tmp_path, STEP % "raise ValueError(number)", place=place), 0)
    assert found.message.splitlines() == [
        "step(0): ValueError: 0",
        "  programs/ours.py:3 in step",
        "    raise ValueError(number)",
    ]
    assert os.linesep not in found.message.splitlines()[0]
