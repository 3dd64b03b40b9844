"""The hooks of the process that owns the terminal: it collects the results of all cases, and prints them."""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dlbench.judging import SKIPPING, Metrics, described
from pytest_dlbench.options import Options
from pytest_dlbench.options.parsers import LOCAL
from pytest_dlbench.plugin.agenda import Collected
from pytest_dlbench.plugin.parametrize import SKIPPED
from pytest_dlbench.plugin.relay import Inlet, Joined, asked
from pytest_dlbench.records import CaseResult, Machine, MetricFacts, SkippedCell, codec
from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.annotations import Failure
from pytest_dlbench.reporting.columns import Layout
from pytest_dlbench.reporting.progress import Live
from pytest_dlbench.running.progress import Progress, Silent
from pytest_dlbench.storing import Entry, Journal
from pytest_dlbench.storing.resuming import name_of

if TYPE_CHECKING:
    from pytest_dlbench.plugin.artifacts import Ended, Published
    from pytest_dlbench.workflows.session import Session

RESUMED = pytest.StashKey[Path | None]()
# Why there is no benchmark session, as where no cluster answers: it is not tried again for every case.
UNOPENED = pytest.StashKey[str]()
# The machine class of a cluster's hosts, as workers of pytest-xdist report it.
MACHINE = pytest.StashKey[Machine]()
# pytest-rerunfailures reports a test that it will repeat as "rerun".
PYTESTS_OWN = ("passed", "failed", "skipped")
# How pytest exits when every test ran.
COMPLETE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR)
NOTHING = "nothing was trained: no case could run"


class Reporter:
    """Registered once per session; ``progress`` shows the steps of running cases.

    Without a terminal reporter (``-p no:terminal``) it prints only errors, and writes the requested files.
    """

    def __init__(
        self,
        config: pytest.Config,
        terminal_reporter: Any | None,
        options: Options,
        agenda: Collected,
        session: "Callable[[], Session]",
    ) -> None:
        self._config, self._terminal, self._options, self._session = config, terminal_reporter, options, session
        self._agenda = agenda
        self._unmeasured = 0
        # Processes of pytest-xdist, by their names.
        self._lost: set[str] = set()
        # Read now: while pytest captures a test's output, standard output is not a terminal.
        self.columns = int(terminal_reporter._tw.fullwidth) if terminal_reporter else 0
        self._is_terminal = bool(terminal_reporter and terminal_reporter.isatty and terminal_reporter._tw.hasmarkup)
        self._results: list[CaseResult] = []
        self._repeated: list[CaseResult] = []
        self._reported: list[dict[str, Any]] = []
        self._facts: list[MetricFacts] = []
        self._skipped: list[SkippedCell] = config.stash[SKIPPED]
        self._journals: set[str] = set()
        self._problems: list[str] = []
        self._failures: list[Failure] = []
        self._pytest: pytest.Session | None = None
        # Also set by the fixture: an interrupted test has no report.
        self.saw_benchmarks = False
        self._ran_some = False
        self._taken = 0
        self._is_distributed = config.pluginmanager.hasplugin("dsession")
        self._nodes: list[Any] = []
        # Why the processes of pytest-xdist have nothing to run, if they say so.
        self._nothing = ""
        self._interrupt: BaseException | None = None
        # Tests, as the agenda counts them: each may have several results.
        self._finished = 0
        self._published: Published | None = None
        is_quiet = terminal_reporter is None or config.getoption("verbose") < 0
        self.progress: Progress = Silent() if is_quiet else Live(self, agenda, self._options.budget)
        is_joined = self._is_distributed and options.on != LOCAL
        self._inlet = Inlet(Joined(self.progress).show) if is_joined and isinstance(self.progress, Live) else None

    @property
    def is_rewritable(self) -> bool:
        """Whether lines go to an interactive terminal; the log of a CI job keeps every line."""
        return self._is_terminal and not os.environ.get("CI")

    def write(self, text: str) -> None:
        """Write during a test, bypassing pytest's capture."""
        if self._terminal is None:
            return
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            self._terminal.ensure_newline()
            self._terminal._tw.write(text, flush=True)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._agenda.collect(session.items)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._agenda.begin(nodeid)

    # First, to erase the progress line before pytest prints an outcome.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reported = getattr(report, "dlbench", None)
        if reported is None:
            return
        self.saw_benchmarks = True
        self._take_changed(codec.convert(reported.get("changed", []), list[CaseResult], report.nodeid))
        # pytest keeps every report until the end: the results need not be kept twice.
        cases = reported.pop("cases", [])
        results = codec.convert([case["result"] for case in cases], list[CaseResult], report.nodeid)
        if isinstance(self.progress, Live):
            self.progress.clear()
            for result, case in zip(results, cases, strict=True) if report.when == "call" else ():
                self.progress.case_judged(result.outcome)
                if self._is_distributed:
                    self.progress.case_finished(result, case["hosts"])
        if report.failed:
            self._failures.append(_failure(report))
        if results and report.outcome not in PYTESTS_OWN:
            self._repeated += results
        elif report.when == "call":
            self._called(report, results, [{**reported, "runs": case["runs"]} for case in cases])

    def _take_changed(self, changed: Sequence[CaseResult]) -> None:
        """Results of earlier tests that this one certified."""
        if not changed:
            return
        new = {result.case.id: result for result in changed}
        self._results = [new.get(result.case.id, result) for result in self._results]

    def _called(self, report: pytest.TestReport, results: list[CaseResult], reported: list[dict[str, Any]]) -> None:
        self._ran_some |= any(one.outcome not in SKIPPING for one in results) if results else not report.skipped
        self._results += results
        self._reported += reported
        if reported:
            self._finished += 1
            # All cases of a test have the same.
            self._facts += codec.convert(reported[0]["metrics"], list[MetricFacts], report.nodeid)
        elif report.failed:
            self._unmeasured += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        self._nodes.append(node)
        if self._inlet:
            known = {"columns": self.columns, "processes": len(self._config.getoption("tx"))}
            node.workerinput["dlbench_progress"] = asked(self._inlet.path, is_rewritable=self.is_rewritable, **known)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if not (output := getattr(node, "workeroutput", {})):
            # It died, and could not name its journal.
            self._lost.add(node.workerinput["workerid"])
            return
        # Every worker of pytest-xdist collects the same matrix.
        self._skipped = codec.convert(output.get("dlbench_left_out", []), list[SkippedCell], "skipped cells")
        self._journals |= {output["dlbench_journal"]} if "dlbench_journal" in output else set()
        self._problems += [output["dlbench_journal_problem"]] if output.get("dlbench_journal_problem") else []
        self._taken += output.get("dlbench_taken", 0)
        self._nothing = output.get("dlbench_nothing", self._nothing)
        if "dlbench_machine" in output:
            self._config.stash[MACHINE] = codec.convert(output["dlbench_machine"], Machine, "machine")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        finished = yield
        if self._nothing:
            pytest.exit(self._nothing, returncode=pytest.ExitCode.NO_TESTS_COLLECTED)
        return finished

    @property
    def _has_session(self) -> bool:
        """Whether there was a benchmark session: none where no cluster answers."""
        if self._is_distributed and self._options.on != LOCAL:
            # This process would lease a host to learn what it is.
            return MACHINE in self._config.stash
        return UNOPENED not in self._config.stash

    @property
    def _is_reported(self) -> bool:
        """Whether there is something to report."""
        return self.saw_benchmarks and self._has_session

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupt = excinfo.value
        self._clear()

    # Outermost: by then pytest-xdist's workers have finished, and pytest has written its summary.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        self._pytest = session
        self._close_inlet()
        if self.saw_benchmarks and not self._ran_some and session.exitstatus == pytest.ExitCode.OK:
            # A matrix with nothing to run must not look like one that passed.
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        try:
            finished = yield
        except OSError:
            # The terminal is gone, and nothing can be printed; the files can still be written.
            if self._is_reported:
                self._publish()
            raise
        if self._terminal is None and self._is_reported:
            is_error = not self._ran_some and not self._interrupt
            for error in (*self._publish().errors, *([NOTHING] if is_error else [])):
                print(f"dlbench: {foreign.block(error)}", file=sys.stderr)
        elif self._terminal and self._results:
            from pytest_dlbench.reporting import last_line  # noqa: PLC0415 - as below

            budget = self._options.false_alarms
            last = last_line.line(self._results, budget, self._repeated, self._metrics, self._unmeasured)
            self._terminal.write_line(last)
        if self._is_reported:
            self._end(session)
        return finished

    def _close_inlet(self) -> None:
        if self._inlet:
            self._inlet.close()
        self._clear()

    def _clear(self) -> None:
        """Erase the progress line, unless the terminal is gone: that must not end what is still to be done."""
        if isinstance(self.progress, Live):
            with suppress(OSError):
                self.progress.clear()

    def _end(self, session: pytest.Session) -> None:
        """Mark the journals: a session that was interrupted, stopped at a failure, or lost a process can be resumed."""
        is_stopped = session.shouldstop or session.shouldfail or self._lost
        has_run_all = session.exitstatus in COMPLETE and not is_stopped
        for path in map(Path, self._written()) if has_run_all else ():
            # Without the mark it could be resumed, and nothing would be left to run.
            with suppress(OSError):
                if path.exists():
                    now = datetime.now(UTC).isoformat(timespec="seconds")
                    Journal.at(path, self._session().journal.session).append(Entry(ended=now))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.saw_benchmarks:
            return
        # With --tb=no the last line of dots has not ended.
        terminalreporter.ensure_newline()
        terminalreporter.section("dlbench")
        if not self._has_session:
            for line in foreign.lines(self._skips()):
                terminalreporter.write_line(line)
            terminalreporter.write_line(f"ERROR: {NOTHING}, see the reasons above", red=True)
            return
        published = self._publish()
        for line in foreign.lines((*self._lines(), *published.lines)):
            terminalreporter.write_line(line)
        for command in published.annotations:
            terminalreporter.write_line(command)
        for error in published.errors:
            terminalreporter.write_line(f"ERROR: {foreign.block(error)}", red=True)
        if not self._ran_some and not self._interrupt:
            terminalreporter.write_line(f"ERROR: {NOTHING}, see the reasons above", red=True)

    def _publish(self) -> "Published":
        if self._published:
            return self._published
        # Late: every pytest session with this plugin installed would wait for rich.
        from pytest_dlbench.plugin import artifacts  # noqa: PLC0415

        if self._interrupt:
            self._take_interrupted()
        published = self._published = artifacts.publish(self._ended(), os.environ)
        if published.errors and self._pytest and self._pytest.exitstatus == pytest.ExitCode.OK:
            self._pytest.exitstatus = pytest.ExitCode.TESTS_FAILED
        return published

    def _ended(self) -> "Ended":
        from pytest_dlbench.plugin.artifacts import Ended  # noqa: PLC0415 - as above

        return Ended(
            root=self._config.rootpath,
            options=self._options,
            journals=[Path(path) for path in self._written()],
            results=self._results,
            skipped=self._skipped,
            failures=self._failures,
            heading=self._heading(),
            metrics=self._metrics,
            problems=[*self._problems, *([own] if (own := self._session().journal.problem) else [])],
            name=self._session().journal.session,
            is_resumed=self._config.stash[RESUMED] is not None,
        )

    def _take_interrupted(self) -> None:
        """The cases that were running: they have no report, but a journal."""
        from pytest_dlbench.judging import summarise  # noqa: PLC0415 - as above
        from pytest_dlbench.storing.recorded import read  # noqa: PLC0415 - as above

        for node in self._nodes:
            self.pytest_testnodedown(node)
        known = {result.case.id for result in self._results}
        for case in read(path for path in map(Path, self._written()) if path.exists()).cases:
            if case.result.case.id not in known:
                self._ran_some = True
                self._results.append(case.result)
                runs = [summarise([run]) for run in case.record.runs]
                self._reported.append({"runs": runs, "test": "", "marks": []})

    @property
    def _metrics(self) -> Metrics:
        known = self._session().settings.metrics
        return described(self._facts, known) if self._is_distributed else known

    def _written(self) -> list[str]:
        journal = self._session().journal
        of_lost = (path for name in self._lost for path in journal.path.parent.glob(f"*-{name}.jsonl"))
        lost = {str(path) for path in of_lost if name_of(path) == journal.session}
        return sorted(self._journals | lost | {str(journal.path)})

    def _heading(self) -> str:
        from pytest_dlbench.reporting import terminal  # noqa: PLC0415 - as above

        settings = self._session().settings
        return terminal.machine(settings.machine, self._options.threads, settings.scale)

    def _lines(self) -> list[str]:
        from pytest_dlbench.reporting import (  # noqa: PLC0415 - as above
            breakdowns,
            explain,
            ranking,
            scaling,
            searches,
            side_by_side,
            tables,
            terminal,
        )

        if self._interrupt and not self._results:
            return [terminal.interrupted(0, self._agenda.collected), *terminal.journals(self._written())]
        options = self._options
        layout = Layout(columns=options.columns, group_by=options.group_by, sort=options.sort, metrics=self._metrics)
        rows = [tables.row(result, reported) for result, reported in zip(self._results, self._reported, strict=True)]
        lines = [self._heading(), *explain.revisions(self._results), "", *tables.tables(rows, layout)]
        lines += side_by_side.tables(self._results, self._metrics) if len(options.threads) > 1 else []
        lines += scaling.tables(rows, self._metrics)
        lines += breakdowns.tables(rows, self._metrics)
        lines += ranking.lines(rows)
        lines += searches.lines(rows)
        lines += terminal.notes(self._results, self._metrics)
        lines += self._skips()
        lines += [terminal.interrupted(self._finished, self._agenda.collected)] if self._interrupt else []
        return [*lines, *self._resumed(), *terminal.journals(self._written())]

    def _skips(self) -> list[str]:
        from pytest_dlbench.reporting import skips  # noqa: PLC0415 - as above

        lists_reasons = self._config.getoption("verbose") > 0 or set("saA") & set(self._config.getoption("reportchars"))
        return skips.lines(self._skipped, is_listed=bool(lists_reasons))

    def _resumed(self) -> list[str]:
        if not self._options.resume:
            return []
        taken = self._taken + self._session().resumption.recorded.taken
        if self._config.stash[RESUMED] is None:
            return ["resumed: nothing, because no session was interrupted; all runs are new"]
        return [f"resumed: the journal had {taken} finished run{'' if taken == 1 else 's'}, the others were made now"]


def _failure(report: pytest.TestReport) -> Failure:
    path, line, _ = report.location
    return Failure(path=path, line=(line or 0) + 1, title=report.nodeid, message=report.longreprtext)
