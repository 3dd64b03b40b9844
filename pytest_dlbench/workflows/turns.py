"""Cases that are run in pairs take turns: the next pair goes to the one that is decided soonest.

A case belongs to a test, which is called for every turn of it; what is kept of the test in between is here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.alpha_spending import FIRST_LOOK
from pytest_dlbench.judging.multiple_testing import most_informative
from pytest_dlbench.judging.pairs import Pair
from pytest_dlbench.judging.two_stage import Passes
from pytest_dlbench.records import CaseResult, Record
from pytest_dlbench.running.pairs import Pairs

Concluded = tuple[Record, CaseResult]


class SetAsideError(Exception):
    """A case is not decided yet, and another one goes on before it."""


@dataclass(slots=True, kw_only=True)
class Series:
    """The pairs of one case, and what they say so far. ``seconds`` is what they took in all, by the ``clock``."""

    pairs: Pairs
    passes: Passes
    seconds: float = 0.0
    clock: Callable[[], float] = monotonic

    def run_pair(self) -> None:
        """One more pair; raises UnfinishedError and InvalidError."""
        began = self.clock()
        old, new = self.pairs.next()
        self.passes.add(Pair(old=old, new=new))
        self.seconds += self.clock() - began

    @property
    def seconds_a_pair(self) -> float:
        """On average, with those that were done again."""
        return self.seconds / max(1, len(self.pairs.new_first))


@dataclass(slots=True, kw_only=True)
class _Test:
    """A test between its turns: the cases that it has behind it, and the one that it was set aside in."""

    concluded: list[Concluded] = field(default_factory=list)
    series: Series | None = None
    is_set_aside: bool = False


@dataclass(slots=True, kw_only=True)
class Turns:
    """Which test of a session goes on; tests are known by their ids.

    A test that was not begun here is run to its end, and nothing is kept of it.
    """

    has_time: Callable[[], bool]
    _running: str = ""
    _is_first_round: bool = True
    _tests: dict[str, _Test] = field(default_factory=dict)

    def begin(self, test: str, *, is_first_round: bool) -> None:
        """The turn of a test. In the first round each is set aside as soon as something is known of it."""
        self._running, self._is_first_round = test, is_first_round
        self._tests.setdefault(test, _Test()).is_set_aside = False

    def is_set_aside(self, test: str) -> bool:
        """Whether the last turn of a test ended before it was at its end."""
        return test in self._tests and self._tests[test].is_set_aside

    def end(self, test: str) -> None:
        """A test is at its end, and nothing is kept of it."""
        self._running = ""
        self._tests.pop(test, None)

    def next(self) -> str | None:
        """The test whose case is decided soonest; without time, which wants conclusions only, the first. None if none.

        Only those have a case that were set aside, and the one that runs.
        """
        begun = {test: kept.series for test, kept in self._tests.items() if kept.series}
        if not self.has_time():
            return next(iter(begun), None)
        standings = {test: series.passes.standings for test, series in begun.items()}
        return most_informative(standings, {test: series.seconds_a_pair for test, series in begun.items()})

    def concluded(self, test: str, place: int, case: str) -> Concluded | None:
        """What the fixture's call number ``place`` of a test came to in an earlier turn; None for one that is new.

        Raises DlbenchError for a test that does not do the same again.
        """
        kept = self._tests[test].concluded if test == self._running else []
        if place >= len(kept):
            return None
        if kept[place][1].case.id != case:
            raise DlbenchError(
                f"{test}: its call number {place + 1} was of {kept[place][1].case.id} and is now of {case};\n"
                "  with --dlbench-budget a test is called several times, and has to do the same each time"
            )
        return kept[place]

    def keep(self, test: str, concluded: Concluded) -> None:
        """What a case of a test came to, should the test be called again."""
        if test == self._running:
            self._tests[test].concluded.append(concluded)
            self._tests[test].series = None

    def series(self, test: str, begin: Callable[[], Series]) -> Series:
        """The case that a test was set aside in, or a new one."""
        if test != self._running:
            return begin()
        kept = self._tests[test]
        kept.series = kept.series or begin()
        return kept.series

    def proceed(self, test: str, series: Series) -> None:
        """Run pairs until the case is decided or no time is left; raises SetAsideError where another one goes first."""
        is_first = True
        while series.passes.goes_on(self.has_time):
            if not is_first and self._is_over(test, series):
                self._tests[test].is_set_aside = True
                raise SetAsideError(f"{len(series.pairs.new_first)} pairs do not decide it; another case goes on first")
            series.run_pair()
            is_first = False

    def _is_over(self, test: str, series: Series) -> bool:
        if test != self._running or len(series.passes.screened) < FIRST_LOOK:
            return False
        return self._is_first_round or self.next() != test
