"""--dlbench-false-alarms: the session's budget for reporting a change by chance."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_dlbench.judging.multiple_testing import part_at_once, part_of, places_in_turn, share_in_turn


@dataclass(slots=True, kw_only=True)
class FalseAlarmBudget:
    """The share of sessions without any change in which some case may be reported as regressed.

    ``tests`` is how many tests run in pairs. The metrics that are flagged in a test share its part in turn: those of
    one case, of several, or of repeated attempts. Processes of pytest-xdist do not communicate: ``workers`` is how many
    there are.
    """

    share: float
    tests: int = 1
    workers: int = 1
    _parts: dict[str, float] = field(default_factory=dict, init=False)
    _flagged: dict[str, int] = field(default_factory=dict, init=False)
    _begun: set[str] = field(default_factory=set, init=False)

    def at_once(self, test: str) -> float:
        """The level at which the next case of a test may be decided at once: only its first one may."""
        if test in self._begun:
            return 0.0
        self._begun.add(test)
        return part_at_once(self.tests, self.share)

    def levels(self, test: str) -> Callable[[], float | None]:
        """A function that returns the level of a test's next flagged metric; None if the budget is spent."""
        return lambda: self._next_level(test)

    def _next_level(self, test: str) -> float | None:
        if test not in self._parts:
            self._parts[test] = part_of(len(self._parts) + 1, self.tests, self.share, self.workers)
        level = _level(self._flagged.get(test, 0) + 1, self._parts[test])
        if level is not None:
            self._flagged[test] = self._flagged.get(test, 0) + 1
        return level


def _level(place: int, budget: float) -> float | None:
    return share_in_turn(place, budget) if place <= places_in_turn(budget) else None
