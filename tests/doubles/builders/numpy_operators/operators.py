"""Matrix products in NumPy, computed by one thread of a queue, for which ``wait`` waits, as for a GPU."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

FAULT = os.environ.get("FAULT", "")
OPERATORS = {"gemm": None}
QUEUE = ThreadPoolExecutor(1)


def wait(results):
    """Wait for the queue; with the fault "unawaited" for nothing."""
    if FAULT != "unawaited":
        results[0].result()


class Operator:
    """A product and its two gradients, as functions that only enqueue."""

    def __init__(self, operator, arrays, device):
        self.is_trained = operator["is_trained"]
        data, weights, self.gradient = arrays["data"], arrays["weights"], arrays["gradient"]
        self.turns = operator["transposes_data"], operator["transposes_weights"]
        self.data, self.weights = _turned(data, self.turns[0]), _turned(weights, self.turns[1])

    def passes(self):
        found = {"forward": lambda: self._enqueued(self.weights, self.data, False)}
        if self.is_trained:
            found["backward_data"] = lambda: self._enqueued(self.weights.T, self.gradient, self.turns[0])
            found["backward_weights"] = lambda: self._enqueued(self.gradient, self.data.T, self.turns[1])
        if FAULT == "without forward":
            del found["forward"]
        return found

    def _enqueued(self, one, other, is_turned):
        return [QUEUE.submit(lambda: _turned(one @ other, is_turned))]

    def read(self, names, results):
        found = [np.array(result.result()) for result in results]
        if FAULT in ("wrong weights", "wrong output") and FAULT.split()[1] in names:
            found[0][0, 0] += 1e-4 * np.abs(found[0]).max()
        return [array[:1] for array in found] if FAULT == "cut" else found


def _turned(array, is_turned):
    return array.T if is_turned else array
