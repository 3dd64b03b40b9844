"""The hooks of --dlbench-ab with a --dlbench-budget: tests take turns, and each is reported once, at its end.

A test whose case is not decided when another one should go on is set aside: nothing of it is logged, and it is called
again when it is its turn. pytest, its cache, JUnit and ``-x`` see one outcome a test.
"""

from collections.abc import Callable, Generator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import call_and_report

from pytest_dlbench.options import Options

if TYPE_CHECKING:
    from pytest_dlbench.session import Session
    from pytest_dlbench.turns import Turns


def is_wanted(config: pytest.Config, asked: Options) -> bool:
    """Whether there is time to be spent well. Workers of pytest-xdist run what they are given, to its end."""
    is_run = not (asked.plan or config.getoption("setuponly", False) or config.getoption("setupshow", False))
    return is_run and bool(asked.ab) and asked.budget < inf and not config.pluginmanager.hasplugin("dsession")


class Interleaving:
    """Registered where it is wanted."""

    def __init__(self, session: "Callable[[], Session]") -> None:
        self._session = session
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
        reports = _until_call(item)
        if is_set_aside := self._turns.is_set_aside(item.nodeid) and not any(report.failed for report in reports):
            self._waiting[item.nodeid] = item
        else:
            self._ended(item)
            self._log(item, reports)
        reports.append(_teardown(item, self._following(item, nextitem)))
        if not is_set_aside:
            self._log(item, reports[-1:])
        elif reports[-1].failed:
            self._ended(item)
            self._log(item, reports)
        else:
            self._spend(item, reports)
            # The next turn says it all again.
            del item.user_properties[known:]
        return True

    # Around pytest's own loop, in which each test has its first turn.
    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        finished = yield
        self._next = self._next or self._chosen()
        while self._next:
            item, self._next = self._next, None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
        return finished

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._waiting:
            count = len(self._waiting)
            begun = f"{count} tests were" if count > 1 else "1 test was"
            journal = self._session().journal.path
            terminalreporter.write_line(
                f"{begun} begun and not at an end when the session stopped; runs are in {journal}:"
            )
            for name in self._waiting:
                terminalreporter.write_line(f"  {name}")

    def _ended(self, item: pytest.Item) -> None:
        self._turns.end(item.nodeid)
        self._waiting.pop(item.nodeid, None)

    def _log(self, item: pytest.Item, reports: Sequence[pytest.TestReport]) -> None:
        """Tell pytest of phases of a test, each as long as all its turns were."""
        hook = item.ihook
        for report in reports:
            report.duration += self._spent.get((item.nodeid, report.when), 0.0)
            if report.when == "setup":
                hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

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


def _until_call(item: Any) -> list[pytest.TestReport]:
    """Set up and call, as pytest's own ``runtestprotocol`` does; nothing is logged yet."""
    if not item._request:
        item._initrequest()
    reports = [call_and_report(item, "setup", log=False)]
    if reports[0].passed:
        reports.append(call_and_report(item, "call", log=False))
    return reports


def _teardown(item: Any, following: pytest.Item | None) -> pytest.TestReport:
    try:
        return call_and_report(item, "teardown", log=False, nextitem=following)
    finally:
        item._request = False
        item.funcargs = None
