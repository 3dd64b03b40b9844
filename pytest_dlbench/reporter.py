"""The hooks of the process that owns the terminal: it gathers what cases became, wherever they ran, and prints it."""

from contextlib import nullcontext
from typing import Any

import pytest

from pytest_dlbench import codec
from pytest_dlbench.matrix import LeftOut
from pytest_dlbench.records import CaseOutcome, CaseResult
from pytest_dlbench.reporting import terminal
from pytest_dlbench.reporting.progress import Live
from pytest_dlbench.running import Progress, Silent
from pytest_dlbench.session import Session

NOT_RUN = frozenset({CaseOutcome.SKIPPED, CaseOutcome.UNSUPPORTED})


class Reporter:
    """Registered once a session; ``progress`` is what running tells its steps to."""

    def __init__(self, terminal_reporter: Any, session: Session) -> None:
        self._terminal, self._session = terminal_reporter, session
        self._cases = 0
        self._results: list[CaseResult] = []
        self._left_out: list[LeftOut] = []
        self._journals: list[str] = []
        self._saw_benchmarks = self._ran_some = False
        is_quiet = terminal_reporter.config.getoption("verbose") < 0
        self.progress: Progress = Silent() if is_quiet else Live(self, lambda: self._cases)

    @property
    def is_rewritable(self) -> bool:
        """Whether lines go to a terminal."""
        return bool(self._terminal._tw.hasmarkup)

    @property
    def columns(self) -> int:
        """The width of the terminal."""
        return int(self._terminal._tw.fullwidth)

    def write(self, text: str) -> None:
        """Write in the middle of a test, past pytest's capture."""
        capture = self._terminal.config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            self._terminal.ensure_newline()
            self._terminal._tw.write(text, flush=True)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._cases = sum("dlbench" in getattr(item, "fixturenames", ()) for item in session.items)

    # First, so that the live line is gone before pytest prints an outcome.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        extra = getattr(report, "dlbench", None)
        if extra is None:
            return
        if isinstance(self.progress, Live):
            self.progress.clear()
        self._saw_benchmarks = True
        if report.when != "call":
            return
        result = codec.convert(extra["result"], CaseResult, report.nodeid) if "result" in extra else None
        self._ran_some |= result.outcome not in NOT_RUN if result else not report.skipped
        if result:
            self._results.append(result)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        left_out = getattr(node, "workeroutput", {}).get("dlbench_left_out", [])
        # Every worker collects the same matrix.
        self._left_out = codec.convert(left_out, list[LeftOut], "left out")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._saw_benchmarks and not self._ran_some and session.exitstatus == pytest.ExitCode.OK:
            # A matrix with nothing left to run must not look like one that passed.
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._saw_benchmarks:
            return
        terminalreporter.section("dlbench")
        settings = self._session.settings
        lines = [terminal.machine(settings.machine, settings.threads, settings.scale)]
        if self._results:
            lines += ["", *terminal.table(self._results), ""]
        lines += terminal.notes(self._results) + terminal.left_out(self._left_out)
        lines.append(f"journal: {self._session.journal.path}")
        for line in lines:
            terminalreporter.write_line(line)
        if not self._ran_some:
            terminalreporter.write_line("ERROR: nothing was trained: every case was skipped, see the reasons above")
