"""Batches that a data loader reads and decodes from JPEG files while the framework trains.

The loader is the framework's own, in the module ``loader`` of its folder, or the ``plain`` one of this module: some
processes, in Python and NumPy, that alternate. It is that of frameworks without a loader of their own.
"""

import multiprocessing
import sys

import numpy as np

from dlworker.images import Images, pillow
from dlworker.pipeline import Feeding
from dlworker.profiling import part_of
from dlworker.protocol import RequestError
from dlworker.serving import die_with_parent

# How far a decoded level may be from the one that the driver's decoder found, of 255. Decoders of one file differ in
# rounding, and in how they enlarge colours that have half the resolution.
MOST_LEVELS = 3
PLAIN = "processes of pytest-dlbench"


class Loaded(Feeding):
    """A trainer whose steps get their batches from a loader, which reads a folder.

    ``inputs`` are those that the driver decoded, with their labels.
    """

    def __init__(self, session, folder, inputs, labels, order, rates=None):
        super(Loaded, self).__init__(session.trainer, order)
        recipe, self._device = session.recipe, session.device
        self._images = Images(folder, labels, session.network["input"][0])
        self._workers = recipe.get("loader_workers", 0)
        native = part_of(session.builder, "loader", "batches") if recipe.get("loader", "native") == "native" else None
        self._load = native or batches
        self._parts = []
        self._batches, self._first = None, None
        self._start(0)
        # That of the first step, which begins with it at hand: the processes are started by now.
        self._first = next(self._batches)
        self._due = 0
        batch = self._first[:2]
        self.deviation = _deviation(np.asarray(batch[0]), inputs[order[0]])
        self._require(batch[1], 0)
        self.load(batch, rates)

    def loading(self, steps):
        """How the batches of the last steps were loaded: the seconds are sums over their files, of all processes."""
        module = sys.modules[self._load.__module__]
        seconds = np.array(self._parts[-steps:]).reshape(-1, 3).T
        return {
            "loader": module.NAME,
            "decoder": module.decoder(),
            "workers": self._workers,
            "deviation": self.deviation,
            "read_seconds": seconds[0].tolist(),
            "decode_seconds": seconds[1].tolist(),
            "collate_seconds": [] if np.isnan(seconds[2]).any() else seconds[2].tolist(),
        }

    def stop(self):
        """End the loader's processes and threads."""
        if self._batches is not None:
            self._batches.close()
        self._batches, self._first, self._due = None, None, None

    def _start(self, number):
        self.stop()
        self._batches = self._load(self._images, np.array(self.order[number:]), self._workers, self._device)

    def _next(self, number):
        batch, self._first = self._first or next(self._batches), None
        inputs, labels, seconds = batch
        self._require(labels, number)
        self._parts.append(np.asarray(seconds))
        return inputs, labels

    def _require(self, labels, number):
        if not np.array_equal(np.asarray(labels), self._images.labels[self.order[number]]):
            raise RequestError("error", "the loader's batch of step %d has the labels of other examples" % number)


def _deviation(inputs, expected):
    """The largest difference of a level from the expected one; raises RequestError for other images."""
    if inputs.shape != expected.shape:
        raise RequestError("error", "the loader's images are %s, not %s" % (inputs.shape, expected.shape))
    found = float(np.abs(np.asarray(inputs, dtype=np.float64) - expected).max() * 255)
    if found > MOST_LEVELS:
        message = "the loader's pixels differ by up to %.1f of 255 from the driver's; decoders differ by %d at most"
        raise RequestError("error", message % (found, MOST_LEVELS))
    return found


NAME = PLAIN


def decoder():
    """What decodes the files of the plain loader."""
    return pillow()


def batches(images, order, workers, device):
    """Yield the batch of each row of the order as ``Images.batch`` returns it, from processes that alternate.

    Each is a batch ahead of the training; without any, batches are loaded when they are asked for.
    """
    pillow()
    if not workers:
        for numbers in order:
            yield images.batch(numbers)
        return
    started = [_process(images, order[place::workers]) for place in range(workers)]
    try:
        for number in range(len(order)):
            yield _received(*started[number % workers])
    finally:
        for process, connection in started:
            process.terminate()
            process.join()
            connection.close()


def _process(images, order):
    """A process that loads these batches, and the end of the pipe from which they come."""
    # A copy of this process would have its threads' locks, but not its threads.
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(its, images, order))
    process.daemon = True
    process.start()
    its.close()
    return process, ours


def _serve(connection, images, order):
    die_with_parent()
    for numbers in order:
        try:
            found = images.batch(numbers)
        except Exception as error:  # The step that waits for this batch raises it.
            found = "%s: %s" % (type(error).__name__, error)
        connection.send(found)


def _received(process, connection):
    try:
        found = connection.recv()
    except EOFError:
        process.join()
        raise RequestError("error", "a process of the loader ended with status %s" % process.exitcode)
    if isinstance(found, str):
        raise RequestError("error", "the loader: %s" % found)
    return found
