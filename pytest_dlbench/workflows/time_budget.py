"""--dlbench-budget: each case that runs in pairs has an equal share of the time that is left when it starts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf
from time import monotonic

HasTime = Callable[[], bool]


@dataclass(slots=True, kw_only=True)
class TimeBudget:
    """The time of a session, from now on.

    ``tests`` is how many of them run in pairs, which ``workers`` processes of pytest-xdist share. A worker cannot know
    how many of them it will be given, and expects as many as the others.
    """

    seconds: float = inf
    tests: int = 1
    workers: int = 1
    clock: Callable[[], float] = monotonic
    _began: float = field(init=False)
    _started: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def share(self, test: str, places: int = 1) -> HasTime:
        """Whether the share of a case that starts now still lasts; ``test`` is the id of its test.

        The remaining time is divided by the tests that have not run yet, this one included: what one does not use goes
        to those after it. ``places`` is how many cases can be measured at the same time on its device: where that is
        fewer than there are workers, these wait for each other and a share is of what they have together.
        """
        self._started.add(test)
        waiting = max(1, ceil(self.tests / self.workers) - len(self._started) + 1)
        at_once = max(1, min(self.workers, places))
        starts = self.clock()
        left = max(0.0, self._began + self.seconds - starts)
        ends = starts + left * at_once / (waiting * self.workers)
        return lambda: self.clock() < ends
