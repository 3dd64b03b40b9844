"""--dlbench-false-alarms: what a session may spend on calling a case regressed by chance."""

from dataclasses import dataclass, field

from pytest_dlbench.judging import multiple_testing


@dataclass(slots=True, kw_only=True)
class FalseAlarmBudget:
    """The share of sessions without any change in which some case may be called regressed.

    Processes of pytest-xdist know nothing of each other: each of ``workers`` has an equal share of it.
    """

    share: float
    workers: int = 1
    _candidates: int = field(default=0, init=False)

    def next_level(self) -> float | None:
        """At which level the next candidate of this process is confirmed; None where the budget is spent."""
        budget = self.share / self.workers
        if self._candidates >= multiple_testing.places_in_turn(budget):
            return None
        self._candidates += 1
        return multiple_testing.share_in_turn(self._candidates, budget)
