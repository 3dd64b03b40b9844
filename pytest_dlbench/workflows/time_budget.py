"""--dlbench-budget: each case that runs in pairs gets an equal share of the time left when it starts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf
from time import monotonic

HasTime = Callable[[], bool]


@dataclass(slots=True, kw_only=True)
class TimeBudget:
    """The time of a session, starting now.

    ``tests`` is how many tests run in pairs; ``workers`` processes of pytest-xdist share them. A worker cannot know how
    many of them it will get, and expects an equal part.
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
        """A function that returns whether the case that starts now has time left; ``test`` is the id of its test.

        The remaining time is divided by the tests that have not run yet, including this one: unused time goes to later
        tests. ``places`` is how many cases can be measured on its device at the same time: if there are more workers
        than that, they wait for each other, and a share is a part of their common time.
        """
        self._started.add(test)
        waiting = max(1, ceil(self.tests / self.workers) - len(self._started) + 1)
        at_once = max(1, min(self.workers, places))
        starts = self.clock()
        left = max(0.0, self._began + self.seconds - starts)
        ends = starts + left * at_once / (waiting * self.workers)
        return lambda: self.clock() < ends
