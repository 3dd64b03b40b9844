"""Batches that a thread prepares while a trainer trains."""

import os
import threading
import weakref
from functools import partial
from time import monotonic
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_dlbench.running import launch

ORDER = np.array([[3, 1], [0, 2], [1, 0], [2, 3]])
INPUTS, LABELS = np.arange(8.0).reshape(4, 2), np.arange(4)


class Trainer:
    """Keeps its input; the loss of a step is the sum of the rows that it would train on."""

    def load(self, inputs, labels, order, rates=None):
        self.order, self.rates = order, rates
        self.feed(inputs, labels)

    def feed(self, inputs, labels):
        self.inputs, self.labels = np.array(inputs), np.array(labels)

    def step(self, number):
        index = self.order[number]
        return self.inputs[index].sum() + 100 * self.labels[index].sum()


@pytest.fixture(scope="module")
def pipeline():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(launch.WORKER_FOLDER)
        from dlworker import pipeline  # noqa: PLC0415 - it is on the worker's path

        yield pipeline


@pytest.fixture(scope="module")
def loaders():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(launch.WORKER_FOLDER)
        from dlworker import loaders  # noqa: PLC0415 - it is on the worker's path

        yield loaders


@pytest.fixture
def piped(pipeline):
    made = pipeline.Pipeline(Trainer(), INPUTS, LABELS, ORDER)
    yield made
    made.stop()


def resident():
    trainer = Trainer()
    trainer.load(INPUTS, LABELS, ORDER)
    return [trainer.step(number) for number in range(len(ORDER))]


def test_every_step_trains_on_the_same_batch_as_in_memory(piped):
    assert [piped.step(number) for number in range(len(ORDER))] == resident()


def test_steps_may_be_repeated(piped):
    for number in range(3):
        piped.step(number)
    assert [piped.step(number) for number in (0, 1, 3)] == [resident()[number] for number in (0, 1, 3)]


def test_every_step_has_a_wait(piped):
    for number in range(len(ORDER)):
        piped.step(number)
    assert len(piped.waits) == len(ORDER)
    assert all(wait > 0 for wait in piped.waits)


class Held:
    """Rows that can be read only when released; the first batch, read before any step, is released."""

    def __init__(self, rows):
        self._rows, self._let = rows, threading.Semaphore(1)
        self.is_asked, self._reads = threading.Event(), 0

    def __getitem__(self, index):
        self._reads += 1
        if self._reads > 1:
            self.is_asked.set()
        self._let.acquire()
        return self._rows[index]

    def let(self):
        self._let.release()


def test_an_early_step_waits_for_its_batch_and_records_how_long(pipeline):
    held = Held(INPUTS)
    piped = pipeline.Pipeline(Trainer(), held, LABELS, ORDER)
    began = monotonic()
    stepping = threading.Thread(target=piped.step, args=(0,), daemon=True)
    stepping.start()
    assert held.is_asked.wait(60)
    asked = monotonic()
    stepping.join(timeout=0.05)
    assert stepping.is_alive()
    let = monotonic()
    held.let()
    stepping.join(timeout=60)
    (wait,) = piped.waits
    assert let - asked < wait < monotonic() - began
    piped.stop()
    held.let()


class Broken:
    """Rows some of which cannot be read."""

    def __getitem__(self, index):
        if 2 in index:
            raise OSError("the disk is gone")
        return INPUTS[index]


def test_an_error_in_the_thread_is_raised_by_the_step_that_waits_for_it(pipeline):
    piped = pipeline.Pipeline(Trainer(), Broken(), LABELS, ORDER)
    piped.step(0)
    with pytest.raises(OSError, match="the disk is gone"):
        piped.step(1)


def test_stopping_ends_the_thread(piped):
    before = set(threading.enumerate())
    piped.step(0)
    (thread,) = (one for one in set(threading.enumerate()) - before if one.name == "dlworker input")
    piped.stop()
    thread.join(timeout=5)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def augmented():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(launch.WORKER_FOLDER)
        from dlworker import augmenting  # noqa: PLC0415 - it is on the worker's path

        yield augmenting.augmented


IMAGE = np.arange(1.0, 5.0).reshape(1, 1, 2, 2)


@pytest.mark.parametrize(
    ("draw", "found"),
    [
        ((1, 1, 0), [[1, 2], [3, 4]]),
        ((1, 1, 1), [[2, 1], [4, 3]]),
        ((0, 1, 0), [[0, 0], [1, 2]]),
        ((2, 0, 0), [[0, 3], [0, 0]]),
        ((1, 2, 1), [[0, 2], [0, 4]]),
    ],
)
def test_an_image_is_cut_where_its_draw_says_and_then_flipped(augmented, draw, found):
    assert augmented(IMAGE, np.array([draw]), 1).tolist() == [[found]]


def test_each_image_of_a_batch_has_its_own_draw(augmented):
    found = augmented(np.concatenate([IMAGE, IMAGE]), np.array([(0, 0, 0), (0, 0, 1)]), 0)
    assert found.tolist() == [[[[1, 2], [3, 4]]], [[[2, 1], [4, 3]]]]


def test_a_pipeline_changes_the_inputs_of_every_step_by_its_number(pipeline):
    made = pipeline.Pipeline(Trainer(), INPUTS, LABELS, ORDER, change=lambda inputs, number: inputs + 1000 * number)
    added = [1000 * number * INPUTS[ORDER[number]].size for number in range(len(ORDER))]
    found = [made.step(number) for number in range(len(ORDER))]
    made.stop()
    assert found == [loss + more for loss, more in zip(resident(), added, strict=True)]


class Staging(Trainer):
    """Puts each batch in memory of its own, in lists, and remembers in which thread."""

    def __init__(self):
        self.threads, self.fed = set(), []

    def stage(self, inputs, labels):
        self.threads.add(threading.current_thread().name)
        return inputs.tolist(), labels.tolist()

    def feed(self, inputs, labels):
        self.fed.append(type(inputs))
        super().feed(inputs, labels)


def test_a_trainer_s_batches_are_staged_by_the_thread_and_fed_as_they_were_staged(pipeline):
    trainer = Staging()
    made = pipeline.Pipeline(trainer, INPUTS, LABELS, ORDER)
    losses = [made.step(number) for number in range(len(ORDER))]
    made.stop()
    assert losses == resident()
    assert trainer.threads == {"dlworker input"}
    # The first one is that of ``load``.
    assert trainer.fed == [np.ndarray] + [list] * len(ORDER)


def test_staged_arrays_are_kept_until_their_copies_are_done(pipeline):
    from dlworker.staging import InFlight  # noqa: PLC0415 - it is on the worker's path

    done, kept = {"first": False, "second": False}, InFlight()
    arrays = {name: np.zeros(2) for name in done}
    held = {name: weakref.ref(array) for name, array in arrays.items()}
    for name in done:
        kept.keep((arrays.pop(name),), partial(done.get, name))
    assert all(reference() is not None for reference in held.values())
    done["first"] = True
    kept.keep((), lambda: True)
    assert [reference() is None for reference in held.values()] == [True, False]


class Files:
    """Batches of numbers in place of files, one of which ends its process, or fails."""

    def __init__(self, failing=None):
        self.failing = failing

    def batch(self, numbers):
        if self.failing in numbers:
            if self.failing == 3:
                os._exit(7)
            raise OSError("the disk is gone")
        return numbers.tolist(), numbers, np.zeros(3)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_processes_that_take_turns_load_batches_in_order(loaders, workers):
    found = [inputs for inputs, _, _ in loaders.batches(Files(), ORDER, workers, "cpu")]
    assert found == ORDER.tolist()


@pytest.mark.parametrize(("failing", "message"), [(2, "OSError: the disk is gone"), (3, "ended with status 7")])
def test_a_process_that_fails_or_ends_is_an_error_of_the_step_that_waits_for_it(loaders, failing, message):
    found = loaders.batches(Files(failing), ORDER[::-1] if failing == 3 else ORDER, 1, "cpu")
    with pytest.raises(loaders.RequestError, match=message):
        list(found)


def test_a_loader_whose_batches_are_of_another_step_is_found_out(loaders, tmp_path):
    def swapped(images, order, workers, device):
        yield from (
            (inputs, labels[::-1], np.zeros(3)) for inputs, labels in ((INPUTS[row], LABELS[row]) for row in order)
        )

    class Session:
        builder, trainer, device = (
            SimpleNamespace(batches=swapped, __name__="swapping", Trainer=Trainer),
            Trainer(),
            "cpu",
        )
        recipe, network = {}, {"input": [2]}

    with pytest.raises(loaders.RequestError, match="batch of step 0 has the labels of other examples"):
        loaders.Loaded(Session, str(tmp_path), INPUTS, LABELS, ORDER)
