"""What a step does, counted in steps that are not timed; and what was compiled for training, which costs nothing.

A builder counts by two functions, which may be in the module ``count`` of its folder (``dlworker.frameworks``).
"""

from contextlib import contextmanager

from dlworker.instructions import UncountedError, instructions
from dlworker.profiling import name_of, part_of


class Compiled(object):
    """What is compiled for training, without what evaluations need: differences of the framework's own counters."""

    def __init__(self, read):
        self._read, self._before = read, read()

    @contextmanager
    def besides(self):
        """What is compiled in this block is not for training."""
        before = self._read()
        yield
        after = self._read()
        self._before = {name: self._before.get(name, 0) + after[name] - before.get(name, 0) for name in after}

    def counts(self):
        """{name: number} so far."""
        return {name: number - self._before.get(name, 0) for name, number in self._read().items()}


def compiled(builder, trainer):
    """What a builder's framework compiles from now on."""
    found = part_of(builder, "count", "compiled")
    return Compiled(lambda: found(trainer) if found else {})


def counted(run, count, known):
    """({name: number}, {name: why it is unknown}) of what ``run()`` does: a step, which is repeated once or twice more.

    ``count(run)`` is the framework's part, ``known`` what is counted already.
    """
    # After an evaluation, the first step may fill caches again.
    run()
    counts, absent = dict(known), {}
    try:
        counts["instructions"] = instructions(run)
    except UncountedError as error:
        absent["instructions"] = str(error)
    try:
        found = count(run)
    except Exception as error:  # The boundary: a profiler can raise anything, and the run has its figures already.
        found = {"operations": "%s: %s" % (type(error).__name__, error)}
    for name, value in found.items():
        (absent if isinstance(value, str) else counts)[name] = value
    return counts, absent


def of_builder(builder, trainer, device):
    """The framework's part of ``counted``: a function of ``run``."""
    found = part_of(builder, "count", "count")
    if found:
        return lambda run: found(run, trainer, device)
    reason = "the builder %s has no function count(run, trainer, device)" % name_of(builder)
    return lambda run: {"operations": reason}
