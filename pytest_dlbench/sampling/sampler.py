"""What a sampler is: the one interface for whatever is read beside a run, ours or somebody else's."""

from collections.abc import Callable, Mapping
from typing import Protocol


class Sampler(Protocol):
    """Reads one thing during each phase of a run, in the driver's process, which must sleep while a worker measures.

    All three are called by whoever waits for the worker: there is no thread.
    """

    def begin(self) -> None:
        """A phase begins."""
        ...

    def sample(self) -> None:
        """It goes on; called about five times a second, and should take less than a millisecond."""
        ...

    def end(self) -> Mapping[str, float]:
        """It ended: figures by name, with their unit in it, such as ``{"wall_joules": 12.5}``."""
        ...


MakeSampler = Callable[[int], Sampler]
"""A sampler for one run; it is given the process id of the worker."""
