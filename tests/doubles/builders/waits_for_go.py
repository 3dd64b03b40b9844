"""The NumPy double, whose first step waits for a file ``go`` in the folder for temporary files.

At its end it writes there from when to when it was, on the monotonic clock, and for which driver.
"""

import json
import os
import tempfile
import time

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

BEGAN = time.monotonic()
FOLDER = tempfile.gettempdir()
PATIENCE_SECONDS = 30


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        while not os.path.exists(os.path.join(FOLDER, "go")):
            if time.monotonic() > BEGAN + PATIENCE_SECONDS:
                raise ValueError("nobody said go")
            time.sleep(0.01)
        return super().step(number)

    def outputs(self, inputs, batch_size):
        yield from super().outputs(inputs, batch_size)
        with open(os.path.join(FOLDER, "interval-%d.json" % os.getpid()), "w") as file:
            json.dump({"driver": os.getppid(), "began": BEGAN, "ended": time.monotonic()}, file)
