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


class Feeding(object):
    """A trainer whose steps each get a batch; ``waits`` are the seconds that each step waited for it.

    A wait lasts until the batch is ready and passed to the framework, so that the step can compute. What a batch comes
    from is started again where steps do not follow each other.
    """

    def __init__(self, trainer, order):
        self.trainer, self.order = trainer, order
        self.waits = []
        self._due = None

    def load(self, batch, rates):
        """Hand the framework a first batch. It holds one at a time: every step uses all of its rows, in order."""
        rows = np.tile(np.arange(self.order.shape[1]), (len(self.order), 1))
        self.trainer.load(*batch, order=rows, rates=rates)

    def step(self, number):
        """The loss of a step, as the trainer returns it."""
        self.fetch(number)
        return self.trainer.step(number)

    def fetch(self, number):
        """Wait for the batch of a step, and pass it to the framework."""
        began = monotonic()
        if number != self._due:
            self._start(number)
        self.trainer.feed(*self._next(number))
        self._due = number + 1
        self.waits.append(monotonic() - began)


class Pipeline(Feeding):
    """A trainer whose steps get their batches from a thread.

    ``change``, if given, makes the inputs of a step of those of the data set: (inputs, number) -> inputs.
    """

    def __init__(self, trainer, inputs, labels, order, rates=None, change=None):
        super(Pipeline, self).__init__(trainer, order)
        self.change, self.inputs, self.labels = change, inputs, labels
        self._stage = getattr(trainer, "stage", lambda *batch: batch)
        self._ready, self._ended = None, None
        self.load(self._batch(0), rates)

    def _next(self, number):
        batch = self._ready.get()
        if isinstance(batch, Exception):
            raise batch
        return batch

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
