"""Turns under pytest-xdist: workers take them, each with the tests that it is given, and the controller keeps count.

For xdist's scheduler a test is complete when it is set aside. A worker that dies then takes it along, and one that the
scheduler has nothing more for does not hear that the session should stop: both are seen to here.
"""

from collections.abc import Callable, Collection, Generator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

STOP = "dlbench_stop"
LOST = (
    "crashed: the worker of pytest-xdist died after this test was set aside for another one, and its case has no"
    " verdict;\n  runs that it made are in the journals of {folder}"
)


class Controller:
    """Registered in the process that workers report to; ``journals`` is the folder of their journals."""

    def __init__(self, config: pytest.Config, journals: Path) -> None:
        self._journals = journals
        self._begun: dict[str, tuple[str, int | None, str]] = {}
        folder = TemporaryDirectory(prefix="dlbench-")
        config.add_cleanup(folder.cleanup)
        self._stop = Path(folder.name) / "stop"
        self._session: pytest.Session | None = None

    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[STOP] = str(self._stop)

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._begun[nodeid] = location

    # Last: pytest counts failures, and knows then whether they are too many.
    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._begun.pop(report.nodeid, None)
        if self._session and (self._session.shouldfail or self._session.shouldstop):
            self._stop.touch()

    # Around the controller's own loop, which ends when all workers have, and raises where the session was stopped.
    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        self._session = session
        finished = yield
        for nodeid, location in list(self._begun.items()):
            report = pytest.TestReport(nodeid, location, {}, "failed", LOST.format(folder=self._journals), "call")
            # As the plugin marks its own.
            report.__dict__["dlbench"] = {}
            session.config.hook.pytest_runtest_logreport(report=report)
        return finished

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        tell_unfinished(terminalreporter, self._begun, self._journals)


def tell_unfinished(terminal: Any, tests: Collection[str], journal: Path) -> None:
    """Name the tests that a stopped session leaves without an outcome."""
    if tests:
        begun = f"{len(tests)} tests were" if len(tests) > 1 else "1 test was"
        terminal.write_line(f"{begun} begun and not at an end when the session stopped; runs are in {journal}:")
        for name in tests:
            terminal.write_line(f"  {name}")


def stopped(config: pytest.Config) -> Callable[[], bool]:
    """Whether the session of this process was stopped by its controller; never in a process that has none."""
    path = getattr(config, "workerinput", {}).get(STOP)
    return Path(path).exists if path else lambda: False


def reports_are_of(item: pytest.Item) -> None:
    """Tell a worker of pytest-xdist which test runs: it sends the item's place with each report, and checks it.

    Its own loop is at its end when this is called, and would leave it at the last test that was handed out.
    """
    for plugin in item.config.pluginmanager.get_plugins():
        if hasattr(plugin, "item_index") and hasattr(plugin, "sendevent"):
            plugin.item_index = item.session.items.index(item)
