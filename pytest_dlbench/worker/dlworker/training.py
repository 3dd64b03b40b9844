"""The timing loop used for every framework."""

import math
from time import monotonic

# A split for evaluation may be larger than the memory of a GPU; a part of it is small for any, and has many batches.
PART_BYTES = 2**28
# How much larger than the chunk before it a chunk may be: one fast step must not decide the size of a long one.
MOST_GROWTH = 8


def timed_steps(trainer, steps, first=0, ends_early=True):
    """Train for a number of steps starting at ``first``: (seconds of each step, loss of each step before its update).

    ``float(loss)`` waits for the device, so that a step's seconds are its own. Training ends early at a loss that is
    not finite; that loss is then the last one, as the text "nan", "inf" or "-inf". One of several workers does not end
    early, because the others would wait for it: all of its losses that are not finite are text.
    """
    seconds, losses = [], []
    for number in range(first, first + steps):
        began = monotonic()
        loss = float(trainer.step(number))
        seconds.append(monotonic() - began)
        is_finite = math.isfinite(loss)
        losses.append(loss if is_finite else repr(loss))
        if ends_early and not is_finite:
            break
    return seconds, losses


def timed_chunks(trainer, steps, first, chunk_seconds, clock=None):
    """The same, waiting for the device only once in each chunk of steps: also the number of steps of each chunk.

    A small step on a GPU takes less time than waiting for it. After the first step, which compiles, a chunk has as many
    steps as should take ``chunk_seconds``; each has the same share of its time. With a ``clock`` (``mark`` and
    ``marked_seconds`` of a Trainer) that has marks, there are also the seconds of each step by the device itself.
    """
    seconds, losses, chunks, device_seconds, size = [], [], [], [], 1
    while len(seconds) < steps and (not losses or math.isfinite(losses[-1])):
        count = min(size, steps - len(seconds))
        place = first + len(seconds)
        began = monotonic()
        mark = clock.mark() if clock else None
        found = [trainer.step(number) for number in range(place, place + count)]
        end = mark and clock.mark()
        # Devices work in order: the last loss is computed after all steps before it, and read after both marks.
        last = float(found[-1])
        taken = monotonic() - began
        found = _until_not_finite([float(loss) for loss in found[:-1]] + [last])
        seconds += [taken / count] * len(found)
        device_seconds += [clock.marked_seconds(mark, end) / count] * len(found) if mark else []
        losses += found
        chunks.append(len(found))
        size = min(MOST_GROWTH * count, max(1, math.ceil(chunk_seconds * count / taken)))
    return seconds, [loss if math.isfinite(loss) else repr(loss) for loss in losses], chunks, device_seconds


def _until_not_finite(losses):
    """The losses up to the first that is not finite; what the steps after it did is lost."""
    end = next((place for place, loss in enumerate(losses) if not math.isfinite(loss)), len(losses))
    return losses[: end + 1]


def timed_outputs(trainer, inputs, batch_size):
    """Yield (seconds, outputs) of each batch, of parts that are put on the device one after the other.

    The seconds of a part's first batch include what precedes it: putting examples on the device, compiling.
    """
    rows = batch_size * max(1, PART_BYTES // max(1, inputs[:batch_size].nbytes))
    for first in range(0, len(inputs), rows):
        for timed in _timed_part(trainer, inputs[first : first + rows], batch_size):
            yield timed


def _timed_part(trainer, inputs, batch_size):
    batches = iter(trainer.outputs(inputs, batch_size))
    while True:
        began = monotonic()
        outputs = next(batches, None)
        if outputs is None:
            return
        yield monotonic() - began, outputs
