"""The timing loop used for every framework."""

import math
from time import monotonic


def timed_steps(trainer, steps, first=0):
    """Train for a number of steps starting at ``first``: (seconds of each step, loss of each step before its update).

    ``float(loss)`` waits for the device, so that a step's seconds are its own. Training ends early at a loss that is
    not finite; that loss is then the last one, as the text "nan", "inf" or "-inf".
    """
    seconds, losses = [], []
    for number in range(first, first + steps):
        began = monotonic()
        loss = float(trainer.step(number))
        seconds.append(monotonic() - began)
        if not math.isfinite(loss):
            losses.append(repr(loss))
            break
        losses.append(loss)
    return seconds, losses


def timed_outputs(trainer, inputs, batch_size):
    """Yield (seconds, outputs) of each batch.

    The first batch's seconds include what precedes it: putting examples on the device, compiling.
    """
    batches = iter(trainer.outputs(inputs, batch_size))
    while True:
        began = monotonic()
        outputs = next(batches, None)
        if outputs is None:
            return
        yield monotonic() - began, outputs
