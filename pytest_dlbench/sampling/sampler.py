"""The sampler interface, for built-in samplers and for those that users add."""

from collections.abc import Callable, Mapping
from typing import Protocol


class Sampler(Protocol):
    """Reads one resource during each phase of a run, in the driver's process, which must sleep while a worker measures.

    All three methods are called by the code that waits for the worker: there is no sampling thread.
    """

    def begin(self) -> None:
        """Called when a phase begins."""
        ...

    def sample(self) -> None:
        """Called about five times a second during a phase; should take less than a millisecond."""
        ...

    def end(self) -> Mapping[str, float]:
        """Called when the phase ends; returns figures by name, unit included, such as ``{"wall_joules": 12.5}``."""
        ...


MakeSampler = Callable[[int], Sampler]
"""Creates the sampler of one run; the argument is the process id of the worker, of several the first."""
