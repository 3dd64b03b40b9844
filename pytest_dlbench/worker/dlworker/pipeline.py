"""An input pipeline: a thread prepares batches while the framework trains, and each step waits for its batch.

Rows are read and copied from memory-mapped files without decoding, and images cropped and flipped; the framework gets
each batch by its trainer's ``feed``, after its ``stage``, if it has one, has put it in pinned memory. Plain Python and
NumPy, so that it is the same for all frameworks.
"""

import queue
import threading
from time import monotonic

import numpy as np

# Prefetched batches; a usual default of data loaders.
AHEAD = 2


class Pipeline:
    """A trainer whose steps get their batches from a thread; ``waits`` are the seconds that each step waited.

    ``change``, if given, makes the inputs of a step of those of the data set: (inputs, number) -> inputs.
    A wait lasts until the batch is ready and passed to the framework, so that the step can compute.
    """

    def __init__(self, trainer, inputs, labels, order, rates=None, change=None):
        self.change = change
        self.trainer, self.inputs, self.labels, self.order = trainer, inputs, labels, order
        self._stage = getattr(trainer, "stage", lambda *batch: batch)
        self.waits = []
        self._due, self._ready, self._ended = None, None, None
        # The framework holds one batch at a time: every step uses all of its rows, in order.
        rows = np.tile(np.arange(order.shape[1]), (len(order), 1))
        trainer.load(*self._batch(0), order=rows, rates=rates)

    def step(self, number):
        """The loss of a step, as the trainer returns it."""
        self.fetch(number)
        return self.trainer.step(number)

    def fetch(self, number):
        """Wait for the batch of a step, and pass it to the framework."""
        began = monotonic()
        if number != self._due:
            self._start(number)
        batch = self._ready.get()
        if isinstance(batch, Exception):
            raise batch
        self.trainer.feed(*batch)
        self._due = number + 1
        self.waits.append(monotonic() - began)

    def stop(self):
        """End the thread, which may be waiting for space in the queue."""
        if self._ended is not None:
            self._ended.set()
        self._due = None

    def _start(self, number):
        self.stop()
        self._ready, self._ended = queue.Queue(AHEAD), threading.Event()
        arguments = (self._ready, self._ended, number)
        threading.Thread(target=self._prepare, args=arguments, name="dlworker input", daemon=True).start()

    def _prepare(self, ready, ended, number):
        try:
            for later in range(number, len(self.order)):
                if not _put(ready, ended, self._stage(*self._batch(later))):
                    return
        except Exception as error:  # An error in the thread: the step that waits for this batch raises it.
            _put(ready, ended, error)

    def _batch(self, number):
        index = self.order[number]
        inputs = self.inputs[index]
        return inputs if self.change is None else self.change(inputs, number), self.labels[index]


def _put(ready, ended, item):
    """Whether the item was queued before the thread was ended."""
    while not ended.is_set():
        try:
            ready.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False
