"""The hooks of --dlbench-ab with a --dlbench-budget: tests take turns, and each is reported once, at its end.

A test whose case is not decided when another one should go on is set aside: nothing of it is logged, and it is called
again when it is its turn. pytest, its cache, JUnit and ``-x`` see one outcome a test.
"""

from collections.abc import Callable, Generator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dlbench.options import Options
from pytest_dlbench.plugin import xdist
from pytest_dlbench.plugin.protocol import teardown, until_call

if TYPE_CHECKING:
    from pytest_dlbench.workflows.benchmark import Session
    from pytest_dlbench.workflows.turns import Turns


def is_wanted(config: pytest.Config, asked: Options) -> bool:
    """Whether there is time to be spent well."""
    is_run = not (asked.plan or config.getoption("setuponly", False) or config.getoption("setupshow", False))
    return is_run and bool(asked.ab) and asked.budget < inf


class Interleaving:
    """Registered where it is wanted, in the process that runs tests."""

    def __init__(self, config: pytest.Config, session: "Callable[[], Session]") -> None:
        self._session = session
        self._is_worker, self._is_stopped = hasattr(config, "workerinput"), xdist.stopped(config)
        self._announced: set[str] = set()
        self._waiting: dict[str, pytest.Item] = {}
        self._spent: dict[tuple[str, str | None], float] = {}
        self._next: pytest.Item | None = None

    @property
    def _turns(self) -> "Turns":
        return self._session().turns

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if "dlbench" not in getattr(item, "fixturenames", ()) or _is_run_again_by_others(item):
            return None
        self._turns.begin(item.nodeid, is_first_round=nextitem is not None)
        known = len(item.user_properties)
        reports = until_call(item)
        if is_set_aside := self._turns.is_set_aside(item.nodeid) and not any(report.failed for report in reports):
            self._waiting[item.nodeid] = item
        else:
            self._ended(item)
            self._log(item, reports)
        reports.append(teardown(item, self._following(item, nextitem)))
        if not is_set_aside:
            self._log(item, reports[-1:])
        elif reports[-1].failed:
            self._ended(item)
            self._log(item, reports)
        else:
            self._spend(item, reports)
            if self._is_worker:
                # Should this process die, the controller knows what is missing.
                self._announce(item)
            # The next turn says it all again.
            del item.user_properties[known:]
        return True

    # Around the loop of pytest, or of a worker of pytest-xdist, in which each test has its first turn.
    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        finished = yield
        self._next = self._next or self._chosen()
        while self._next and not (session.shouldfail or session.shouldstop or self._is_stopped()):
            item, self._next = self._next, None
            xdist.reports_are_of(item)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        # A worker tells its controller, which ends the session.
        if session.shouldfail and not self._is_worker:
            raise session.Failed(session.shouldfail)
        if session.shouldstop and not self._is_worker:
            raise session.Interrupted(session.shouldstop)
        return finished

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        xdist.tell_unfinished(terminalreporter, self._waiting, self._session().journal.path)

    def _ended(self, item: pytest.Item) -> None:
        self._turns.end(item.nodeid)
        self._waiting.pop(item.nodeid, None)

    def _log(self, item: pytest.Item, reports: Sequence[pytest.TestReport]) -> None:
        """Tell pytest of phases of a test, each as long as all its turns were."""
        hook = item.ihook
        for report in reports:
            report.duration += self._spent.get((item.nodeid, report.when), 0.0)
            if report.when == "setup":
                self._announce(item)
            hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _announce(self, item: pytest.Item) -> None:
        if item.nodeid not in self._announced:
            self._announced.add(item.nodeid)
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)

    def _spend(self, item: pytest.Item, reports: Sequence[pytest.TestReport]) -> None:
        for report in reports:
            key = (item.nodeid, report.when)
            self._spent[key] = self._spent.get(key, 0.0) + report.duration

    def _following(self, item: pytest.Item, nextitem: pytest.Item | None) -> pytest.Item | None:
        """The test whose fixtures are spared."""
        if item.session.shouldfail or item.session.shouldstop:
            return None
        if nextitem is None:
            self._next = self._chosen()
        return nextitem or self._next

    def _chosen(self) -> pytest.Item | None:
        return self._waiting.get(self._turns.next() or "") if self._waiting else None


def _is_run_again_by_others(item: pytest.Item) -> bool:
    """pytest-rerunfailures repeats what fails, by a loop of its own: tests are run to their end for it."""
    return bool(item.config.getoption("reruns", None)) or item.get_closest_marker("flaky") is not None
