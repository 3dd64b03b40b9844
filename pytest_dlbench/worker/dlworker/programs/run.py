"""What a program knows of its run, and reports of it: the argument of ``build(run)`` and ``main(run)``."""

import math
import os
import sys
from time import monotonic

from dlworker.planting import prolong
from dlworker.programs.problems import ProgramError

PARTS = ("train_inputs", "train_labels", "test_inputs", "test_labels")


class DivergedError(Exception):
    """The loss that ``main`` reported is not finite."""


class Run(object):
    """A run of a program.

    ``device`` is "cpu" or "cuda:0", ``threads`` the number of CPU threads, ``seed`` differs from run to run;
    ``parameters`` are those of the test, ``folder`` is empty and deleted afterwards, ``total_steps`` is how many steps
    are measured.
    """

    def __init__(self, device, threads, seed, parameters, folder, total_steps, data):
        self.device, self.threads, self.seed = device, threads, seed
        self.parameters, self.folder, self.total_steps = Parameters(parameters), folder, total_steps
        self._data = data
        self._reported = {}
        self._marks = Marks(total_steps, self.wait)

    def data(self, name):
        """The arrays of a data set by part, train_inputs, train_labels, test_inputs and test_labels, from the disk."""
        import numpy as np  # noqa: PLC0415 - an environment may lack it

        if name not in self._data:
            known = ", ".join(sorted(self._data)) or "none"
            message = "run.data(%r): the test has not asked for it (%s); dlbench.measure(..., data=%r)"
            raise ProgramError(message % (name, known, name))
        folder = self._data[name]
        return {part: np.load(os.path.join(folder, part + ".npy"), mmap_mode="r") for part in PARTS}

    def wait(self):
        """Wait for PyTorch's GPU, and for all arrays of JAX, which computes in the background on CPUs, too."""
        torch = sys.modules.get("torch")
        if torch is not None and self.device != "cpu":
            torch.cuda.synchronize()
        jax = sys.modules.get("jax")
        if jax is not None:
            for array in jax.live_arrays():
                array.block_until_ready()

    def report(self, **values):
        """Report figures of the run by name, each a finite number; within ``run.steps``, ``loss`` is the step's."""
        loss = values.pop("loss", None) if self._marks.is_within else None
        if loss is not None:
            self._marks.losses.append(_number("loss", loss))
            if not math.isfinite(self._marks.losses[-1]):
                raise DivergedError
        self._reported.update(checked(values, "run.report"))

    def steps(self, batches=None):
        """Yield the batches, or without any the numbers of the steps, and time what is done with each of them.

        The batches are gone through again and again, for ``total_steps`` steps.
        """
        marks = self._marks
        waiting = iter(range(self.total_steps)) if batches is None else again_and_again(batches)
        for _ in range(self.total_steps):
            marks.begin()
            batch = next(waiting, marks)
            if batch is marks:
                raise ProgramError(
                    "the batches of run.steps ended after %d of %d steps, and cannot be gone through again"
                    % (len(marks.seconds), self.total_steps)
                )
            marks.has_input()
            yield batch
            marks.end()

    def callback(self, name):
        """A callback that marks the steps of a "lightning", "transformers" or "keras" trainer."""
        from dlworker.programs import callbacks  # noqa: PLC0415 - few programs need it

        return callbacks.made(name, self._marks)


class Parameters(dict):
    """Parameters by name, of which an unknown one names those that there are."""

    def __missing__(self, name):
        known = ", ".join(sorted(self)) or "none"
        raise ProgramError("the program asks for the parameter %r, which the test does not give (%s)" % (name, known))


class Marks(object):
    """When steps began and ended, in a loop that is not the worker's.

    ``began`` is when the first one began; ``inputs`` are the seconds that each waited for its batch, if known.
    ``slowdown`` is the share of its time by which each step is slowed down on purpose.
    """

    def __init__(self, total, wait):
        self.total, self._wait = total, wait
        self.seconds, self.losses, self.inputs = [], [], []
        self.began = self._since = None
        self.slowdown = 0.0

    @property
    def is_within(self):
        """Whether a step has begun and not ended."""
        return self._since is not None

    @property
    def is_enough(self):
        """Whether all steps that are measured were taken."""
        return len(self.seconds) >= self.total

    def begin(self):
        """A step begins; later ones than those that are measured are not."""
        if not self.is_enough:
            self._since = monotonic()
            self.began = self._since if self.began is None else self.began

    def has_input(self):
        """The step has its batch."""
        self.inputs.append(monotonic() - self._since)

    def end(self, loss=None):
        """The step ends once the device has done it."""
        if self._since is None:
            return
        if loss is not None:
            self.losses.append(_number("loss", loss))
        else:
            self._wait()
        if self.slowdown:
            prolong(self._since, self.slowdown)
        self.seconds.append(monotonic() - self._since)
        self._since = None
        if self.losses and not math.isfinite(self.losses[-1]):
            raise DivergedError


def again_and_again(batches):
    """The batches without end, as long as there are some."""
    while True:
        has_any = False
        for batch in batches:
            has_any = True
            yield batch
        if not has_any:
            return


def checked(values, where):
    """Figures as finite numbers by name."""
    found = {}
    for name, value in values.items():
        found[name] = number = _number(name, value, where)
        # A loss that is not finite means that the training diverged.
        if name != "loss" and not math.isfinite(number):
            raise ProgramError("%s: %s is %r; expected a finite number" % (where, name, number))
    if not 0 <= found.get("accuracy", 0) <= 1:
        raise ProgramError("%s: the accuracy is %r; expected a share from 0 to 1" % (where, found["accuracy"]))
    return found


def _number(name, value, where="run.report"):
    if isinstance(value, (str, bytes)) or value is None:
        raise ProgramError("%s: %s is %r; expected a number" % (where, name, value))
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ProgramError("%s: %s is of the type %s; expected a number" % (where, name, type(value).__name__))
