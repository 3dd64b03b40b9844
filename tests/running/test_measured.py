"""What a finished run tells of time and of what it left behind."""

import psutil
import pytest

from pytest_dlbench.running.training import train_once
from tests.running.plans import STEPS, plan


@pytest.fixture(scope="module")
def paced(tmp_path_factory):
    return train_once(plan("paced", tmp_path_factory.mktemp("data")), 0)


def test_the_steps_lie_within_their_phase_on_one_clock(paced):
    training, phase = paced.training, paced.usage["train"]
    ended = training.began_seconds + sum(training.step_seconds)
    assert phase.began_seconds < training.began_seconds < ended < phase.began_seconds + phase.wall_seconds


def test_loading_comes_before_the_first_step(paced):
    training = paced.training
    assert 0 < training.load_seconds < training.began_seconds - paced.usage["train"].began_seconds + 0.01


def test_the_time_line_covers_all_phases(paced):
    line = paced.timeline
    assert 0 < line.seconds[0] < paced.usage["train"].began_seconds < line.seconds[-1] < paced.wall_seconds
    assert list(line.cpu_seconds) == sorted(line.cpu_seconds)


def test_a_child_that_outlives_its_worker_is_ended_and_told(tmp_path):
    run = train_once(plan("leaves_a_child", tmp_path), 0)
    assert len(run.training.losses) == STEPS
    assert len(run.survivors) == 1
    assert psutil.Process().children(recursive=True) == []
