"""The collected cases as progress counts them: by test, with the time that each should take."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.options import Options
from pytest_dlbench.planning.registry import Registry
from pytest_dlbench.planning.sides import AskedSides
from pytest_dlbench.plugin import parametrize
from pytest_dlbench.plugin.dry_run import outline_of
from pytest_dlbench.records import Case

if TYPE_CHECKING:
    from pytest_dlbench.planning.estimate import Estimator
    from pytest_dlbench.workflows.session import Session


# What a case without a change takes on a machine that is not busy, for the estimate of the time that is left.
USUAL_PAIRS = 10


class Collected:
    """One case for each test that uses the fixture and will not be skipped, however many series of runs it makes."""

    def __init__(
        self, options: Options, registry: Registry, sides: AskedSides, session: "Callable[[], Session]"
    ) -> None:
        self._options, self._registry, self._sides, self._session = options, registry, sides, session
        self._items: list[pytest.Item] = []
        self._numbers: dict[str, int] = {}
        self._number = 1
        self._of_run: list[float] = []
        self._after: list[float] = []

    def collect(self, items: Sequence[pytest.Item]) -> None:
        """Count the selected tests."""
        self._items = [item for item in items if _is_case(item)]
        self._numbers = {item.nodeid: number for number, item in enumerate(self._items, start=1)}

    def begin(self, node_id: str) -> None:
        """A test begins; one that is repeated keeps its number."""
        self._number = self._numbers.get(node_id, self._number)

    @property
    def collected(self) -> int:
        """As many as were collected; 0 if that is not known here, as in the controller of pytest-xdist."""
        return len(self._items)

    @property
    def count(self) -> int:
        """As many as were collected, or one: a test may request the fixture only as it runs."""
        return max(1, len(self._items))

    def number(self, case: Case) -> int:  # noqa: ARG002 - a test may train several
        """The number of the test that runs."""
        return self._number

    def of_run(self, number: int) -> float:
        """As the plan estimates it, from the network's arithmetic."""
        self._estimate()
        return self._of_run[number - 1] if self._items else 1.0

    def after(self, number: int, runs: int) -> float:  # noqa: ARG002 - each test has its own number of runs
        """The runs of all later tests."""
        self._estimate()
        return self._after[number - 1] if self._items else 0.0

    def _estimate(self) -> None:
        """Estimate all tests, once a run begins: sessions that only collect need none of it."""
        if self._of_run or not self._items:
            return
        from pytest_dlbench.planning.estimate import Estimator  # noqa: PLC0415 - see hooks.session_of

        # Without past journals: times of two kinds would not be in proportion.
        estimator = Estimator(self._session().settings.machine, past=())
        self._of_run = [self._seconds(item, estimator) for item in self._items]
        whole = [self._runs(item) * seconds for item, seconds in zip(self._items, self._of_run, strict=True)]
        self._after = [*accumulate(reversed(whole[1:]), initial=0.0)][::-1]

    def _runs(self, item: pytest.Item) -> int:
        if item.get_closest_marker("equivalence"):
            return 1
        is_paired = parametrize.is_paired(item, self._sides)
        return 2 * min(self._options.max_runs, USUAL_PAIRS) if is_paired else self._options.runs

    def _seconds(self, item: pytest.Item, estimator: "Estimator") -> float:
        from pytest_dlbench.planning.estimate import START_SECONDS  # noqa: PLC0415 - as above

        # The recipe is the model's, not the suite's: to evaluate a fixture now could disturb it. A scale limits
        # examples, so that its batch size hardly matters.
        try:
            outline = outline_of(item, self._options, self._registry, self._session().settings)
        except (DlbenchError, KeyError):
            # The body decides what it trains, or fails on it.
            return START_SECONDS
        return estimator.run(outline, is_exact=item.get_closest_marker("equivalence") is None).seconds


def _is_case(item: pytest.Item) -> bool:
    return "dlbench" in getattr(item, "fixturenames", ()) and item.get_closest_marker("skip") is None
