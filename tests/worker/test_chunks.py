"""Steps that are timed together, as on GPUs, where waiting for one takes longer than a small step."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running.launch import WORKER_FOLDER
from pytest_dlbench.running.messages import Failed
from tests.worker.places import place_of
from tests.worker.sessions import session
from tests.worker.test_mixed_precision import NETWORK, RECIPE

DISPATCH_SECONDS, STEP_SECONDS, WAIT_SECONDS, COMPILE_SECONDS = 20e-6, 500e-6, 100e-6, 2.0
CHUNK_SECONDS = 0.1
BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
# Frameworks whose steps need not wait for the device, or whose losses might share an array.
FRAMEWORK_NAMES = ("pytorch", "jax", "tensorflow", "paddle", "tinygrad", "mlx", "mxnet", "chainer")


@pytest.fixture
def training(monkeypatch):
    monkeypatch.syspath_prepend(WORKER_FOLDER)
    from dlworker import training  # noqa: PLC0415 - it is on the worker's path

    return training


class Device:
    """A trainer on a device that computes by itself: time passes when the host dispatches, and when it waits."""

    def __init__(self, not_finite=None, compile_seconds=COMPILE_SECONDS):
        self.now, self.free, self.waits = 0.0, 0.0, 0
        self._not_finite, self._compile_seconds = not_finite, compile_seconds
        self.taken = []

    def step(self, number):
        self.taken.append(number)
        self.now += DISPATCH_SECONDS + (self._compile_seconds if number == 0 else 0.0)
        self.free = max(self.free, self.now) + STEP_SECONDS
        return Loss(self, self.free, math.nan if number == self._not_finite else 1 / (1 + number))

    def mark(self):
        return Mark(self, max(self.free, self.now))

    def marked_seconds(self, first, last):
        assert last.time <= self.now, "it is read before it was reached"
        return last.time - first.time


class Mark:
    def __init__(self, device, time):
        self.device, self.time = device, time


class Loss:
    def __init__(self, device, ready, value):
        self._device, self._ready, self._value = device, ready, value

    def __float__(self):
        self._device.waits += self._ready > self._device.now
        self._device.now = max(self._device.now, self._ready) + WAIT_SECONDS
        return self._value


@pytest.fixture
def timed(training, monkeypatch):
    """Seconds, losses and chunks of steps on a device, and their seconds by a clock of its own."""

    def timed(device, steps, first=0, clock=None):
        monkeypatch.setattr(training, "monotonic", lambda: device.now)
        return training.timed_chunks(device, steps, first, CHUNK_SECONDS, clock)

    return timed


def test_a_step_takes_what_the_device_takes_for_it(timed):
    seconds, *_ = timed(Device(), 5000)
    assert seconds[-1] == pytest.approx(STEP_SECONDS, rel=0.01)


def test_waiting_for_each_step_adds_the_wait_and_the_dispatch(training, monkeypatch):
    device = Device()
    monkeypatch.setattr(training, "monotonic", lambda: device.now)
    seconds, _ = training.timed_steps(device, 5)
    assert seconds[-1] == pytest.approx(DISPATCH_SECONDS + STEP_SECONDS + WAIT_SECONDS)


def test_the_host_waits_once_in_about_a_tenth_of_a_second(timed):
    device = Device()
    seconds, _, chunks, _ = timed(device, 5000)
    ends = [sum(chunks[:place]) for place in range(len(chunks) + 1)]
    lengths = [sum(seconds[begin:end]) for begin, end in pairwise(ends)]
    # The first step compiles, and the next few chunks find their size; the last has what is left.
    assert all(length >= 0.99 * CHUNK_SECONDS for length in lengths[4:-1])
    assert max(lengths[1:]) <= 2 * CHUNK_SECONDS
    assert device.waits == len(chunks)


def test_the_first_step_is_timed_alone(timed):
    seconds, _, chunks, _ = timed(Device(), 100)
    assert chunks[0] == 1
    assert seconds[0] > COMPILE_SECONDS > 100 * seconds[1]


def test_every_step_is_taken_once_in_order_and_has_its_own_loss(timed):
    device = Device()
    seconds, losses, chunks, _ = timed(device, 300, 40)
    assert device.taken == list(range(40, 340))
    assert losses == [1 / (1 + number) for number in range(40, 340)]
    assert len(seconds) == sum(chunks) == 300


def test_the_whole_time_is_that_of_the_steps(timed):
    device = Device()
    seconds, *_ = timed(device, 300)
    # What is left is reading losses that are already computed.
    assert device.free == pytest.approx(sum(seconds), rel=0.05)


def test_steps_that_take_longer_than_a_chunk_are_timed_one_by_one(timed, monkeypatch):
    monkeypatch.setitem(globals(), "STEP_SECONDS", 3 * CHUNK_SECONDS)
    assert timed(Device(), 20)[2] == [1] * 20


@pytest.mark.parametrize("place", [0, 1, 150, 299])
def test_training_ends_at_a_loss_that_is_not_finite(timed, place):
    seconds, losses, chunks, _ = timed(Device(not_finite=place), 300)
    assert losses[place:] == ["nan"]
    assert all(math.isfinite(loss) for loss in losses[:place])
    assert len(seconds) == sum(chunks) == place + 1


def test_a_device_s_own_clock_does_not_count_the_wait(timed):
    device = Device(not_finite=290)
    seconds, _, chunks, own = timed(device, 300, clock=device)
    assert len(own) == len(seconds) == 291
    assert max(chunks) > 1
    # What the host dispatches first, and how long it waits in the end, are shared by the steps of a chunk.
    assert own[-1] == pytest.approx(STEP_SECONDS + DISPATCH_SECONDS / 200, rel=0.01)
    assert own[-1] < seconds[-1]


def test_a_device_without_a_clock_has_no_times_of_its_own(timed):
    class Unmarked(Device):
        def mark(self):
            return None

    device = Unmarked()
    assert timed(device, 30, clock=device)[3] == timed(Device(), 30)[3] == []


def test_pytorch_marks_the_work_of_a_gpu_by_events(tmp_path):
    place_of("pytorch")
    data = prepare(synthetic_for(NETWORK.model), tmp_path)
    marked = replace(FRAMEWORKS["pytorch"], builder="marked_pytorch", folders=(BUILDERS,))
    with session(marked, tmp_path / "run") as asked:
        asked.hello()
        asked.build(NETWORK, RECIPE)
        trained = asked.train(data, RECIPE, 12, chunk_seconds=1e6)
    assert not isinstance(trained, Failed), trained.traceback
    # An event of the double is a number, each 2 ms after the one before.
    assert trained.device_seconds == pytest.approx([2e-3, *[2e-3 / 8] * 8, *[2e-3 / 3] * 3])


@pytest.mark.parametrize("name", FRAMEWORK_NAMES)
def test_the_losses_of_a_framework_are_those_of_steps_that_are_waited_for(name, tmp_path):
    place_of(name)
    data = prepare(synthetic_for(NETWORK.model), tmp_path)
    found = {}
    for chunk_seconds in (0.0, 1e6):
        with session(FRAMEWORKS[name], tmp_path / f"{name}-{chunk_seconds:g}") as asked:
            asked.hello()
            asked.build(NETWORK, RECIPE)
            trained = asked.train(data, RECIPE, 12, chunk_seconds=chunk_seconds)
            assert not isinstance(trained, Failed), trained.traceback
            more = asked.train_on(12 - 2, 2)
            found[chunk_seconds] = trained, more
    (alone, more_alone), (together, more_together) = found.values()
    assert (alone.chunks, together.chunks) == ((), (1, 8, 3))
    # On a processor.
    assert together.device_seconds == ()
    assert together.losses == pytest.approx(alone.losses, rel=1e-5)
    assert more_together.losses == pytest.approx(more_alone.losses, rel=1e-5)


class Sums:
    """A trainer whose outputs are sums of rows, and which remembers how many examples it was given at once."""

    def __init__(self):
        self.given = []

    def outputs(self, inputs, batch_size):
        self.given.append(len(inputs))
        for first in range(0, len(inputs), batch_size):
            yield inputs[first : first + batch_size].sum(axis=1)


@pytest.mark.parametrize(("part_bytes", "given"), [(2**28, [25]), (600, [12, 12, 1]), (1, [4, 4, 4, 4, 4, 4, 1])])
def test_a_split_is_put_on_the_device_in_parts_of_whole_batches(training, monkeypatch, part_bytes, given):
    monkeypatch.setattr(training, "PART_BYTES", part_bytes)
    inputs, trainer = np.arange(25 * 6, dtype=np.float64).reshape(25, 6), Sums()
    found = [outputs for _, outputs in training.timed_outputs(trainer, inputs, 4)]
    assert trainer.given == given
    assert [len(outputs) for outputs in found] == [4, 4, 4, 4, 4, 4, 1]
    assert np.array_equal(np.concatenate(found), inputs.sum(axis=1))
