"""--dlbench-false-alarms: the session's budget for reporting a regression by chance."""

from dataclasses import dataclass, field

from pytest_dlbench.judging import multiple_testing


@dataclass(slots=True, kw_only=True)
class FalseAlarmBudget:
    """The share of sessions without any change in which some case may be reported as regressed.

    Processes of pytest-xdist do not communicate, so each of ``workers`` gets an equal part of it.
    """

    share: float
    workers: int = 1
    _candidates: int = field(default=0, init=False)

    def next_level(self) -> float | None:
        """The significance level for confirming this process's next candidate; None if the budget is spent."""
        budget = self.share / self.workers
        if self._candidates >= multiple_testing.places_in_turn(budget):
            return None
        self._candidates += 1
        return multiple_testing.share_in_turn(self._candidates, budget)
