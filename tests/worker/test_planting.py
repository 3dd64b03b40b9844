"""A planted slowdown, on a clock of the test's own."""

import pytest

from pytest_dlbench.running.launch import WORKER_FOLDER


class Clock:
    """Advances by one tick at each reading, so that waiting for it ends."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        self.seconds += 0.001
        return self.seconds


class Trainer:
    """Steps of one second, which end only when their loss is read."""

    def __init__(self, clock):
        self.clock, self.numbers = clock, []

    def step(self, number):
        self.numbers.append(number)
        trainer = self

        class Loss(float):
            def __float__(self):
                trainer.clock.seconds += 1.0
                return 0.5

        return Loss()


@pytest.fixture
def planting(monkeypatch):
    monkeypatch.syspath_prepend(WORKER_FOLDER)
    from dlworker import planting  # noqa: PLC0415 - it is on the worker's path

    return planting


@pytest.fixture
def clock(monkeypatch, planting):
    clock = Clock()
    monkeypatch.setattr(planting, "monotonic", clock)
    return clock


@pytest.mark.parametrize("share", [0.01, 0.1, 1.0])
def test_a_slowed_step_takes_longer_by_a_fraction_of_the_whole_step(planting, clock, share):
    planting.slowed(Trainer(clock), share).step(7)
    assert clock.seconds == pytest.approx(1 + share, abs=0.01)


def test_a_slowed_step_has_the_same_result(planting, clock):
    trainer = Trainer(clock)
    assert planting.slowed(trainer, 0.1).step(7) == 0.5
    assert trainer.numbers == [7]


def test_without_a_fault_the_trainer_itself_is_timed(planting, clock):
    trainer = Trainer(clock)
    assert planting.slowed(trainer, 0.0) is trainer
