"""A step in its phases, each of which is waited for: a measurement of its own, after the steps that are timed.

Whole steps and steps in phases alternate, so that whatever else happens on the machine happens to both, and the sum of
the phases can be compared with the step. A framework divides its step by the function ``breakdown`` in the module
``breakdown`` of its folder (``dlworker.frameworks``).
"""

from itertools import cycle
from time import monotonic

import numpy as np

from dlworker.profiling import name_of, part_of
from dlworker.training import timed_steps

# All phases that frameworks have, in their order. What prepares the next update may come first.
ORDER = ("input", "forward", "backward", "forward_backward", "exchange", "backward_exchange", "update")
# Whole steps and steps in phases before those that count: the first ones compile, allocate and fill caches.
WARM_UP = 2


class UndividedError(Exception):
    """A step cannot be stopped between its phases; ``cause`` says why, ``what`` names it as the framework does.

    Those of single layers are not timed apart for one more reason, "network": builders hand over something only in the
    network as a whole; "no_layers": the builder has no such function.
    "one_program": the framework compiles the whole step into one program; "one_call": it takes the whole step in one
    call; "setting": the builder divides no step with this setting; "no_function": the builder divides none.
    """

    def __init__(self, cause, what):
        super().__init__(cause, what)
        self.cause, self.what = cause, what


class Phases(object):
    """The step of a trainer in phases; this is the base of those of frameworks that compute as soon as they are called.

    ``phases(number)`` takes a step, and yields the name of each phase as soon as the framework was called for it, with
    some of the arrays that it computes, the last ones if they are computed in an order. A phase may come several times.
    """

    def __init__(self, trainer):
        self.trainer = trainer

    def wait(self, arrays):
        """Wait until the phase is computed."""

    def read(self, arrays):
        """Copy the arrays to NumPy, which waits for them by itself."""
        for array in arrays:
            np.array(array)


def require_single_worker(trainer, has_exchange, program):
    """Raise UndividedError unless one worker trains whole batches, whose phases are programs of their own.

    With ``has_exchange``, the exchange of several workers is in the ``program`` of the step.
    """
    if trainer.accumulation > 1:
        raise UndividedError("setting", "accumulation")
    if has_exchange:
        raise UndividedError("one_program", program)


def require_unscaled_loss(trainer):
    """Raise UndividedError for mixed float16: whether a step counts is decided between its phases."""
    if trainer.scale:
        raise UndividedError("setting", "float16")


def breakdown_of(builder, trainer):
    """The phases of a builder's trainer; raises UndividedError."""
    found = part_of(builder, "breakdown", "breakdown")
    if found is None:
        raise UndividedError("no_function", name_of(builder))
    return found(trainer)


def measured(stepper, divided, steps, rounds, checks, layers=None):
    """Alternating whole steps and steps in phases, ``rounds`` of each, then ``checks`` steps whose results are copied.

    All are steps of the first ``steps`` of the order, again and again. Returns the fields of the answer: the seconds of
    whole steps and of each phase, and of each phase pairs of seconds: copying its results as soon as it was waited for,
    and once more. A result that was waited for is copied at once. With ``layers`` (``layerwise.LayerTimes``), a pass
    layer by layer follows every step in phases.
    """
    numbers, whole, parts, copies = cycle(range(steps)), [], {}, {}
    for turn in range(WARM_UP + rounds):
        seconds, _ = timed_steps(stepper, 1, next(numbers))
        found = _timed(_phases(stepper, divided, next(numbers)), divided)
        if turn >= WARM_UP:
            whole += seconds
            for name, taken in found.items():
                parts.setdefault(name, []).append(taken)
        if layers is not None:
            layers.add(next(numbers), turn >= WARM_UP)
    for _ in range(checks):
        for name, arrays in _phases(stepper, divided, next(numbers)):
            divided.wait(arrays)
            copies.setdefault(name, []).append([_seconds(divided.read, arrays) for _ in range(2)])
    return {"step_seconds": whole, "phase_seconds": _ordered(parts), "copy_seconds": _ordered(copies)}


def _ordered(parts):
    return {name: parts[name] for name in sorted(parts, key=ORDER.index)}


def _phases(stepper, divided, number):
    """Those of a step, which begins with its batch if that comes from a pipeline."""
    # Of several workers: ``meeting.Weighed`` has it of the step that is being taken.
    divided.trainer.number = number
    fetch = getattr(stepper, "fetch", None)
    if fetch is not None:
        fetch(number)
        yield "input", ()
    for phase in divided.phases(number):
        yield phase


def _timed(phases, divided):
    """{phase: its seconds}, which follow each other without gaps."""
    seconds, began = {}, monotonic()
    for name, arrays in phases:
        divided.wait(arrays)
        ended = monotonic()
        seconds[name] = seconds.get(name, 0.0) + ended - began
        began = ended
    return seconds


def _seconds(call, *given):
    began = monotonic()
    call(*given)
    return monotonic() - began
