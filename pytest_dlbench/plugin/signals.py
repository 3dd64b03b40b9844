"""The hooks by which SIGTERM and SIGHUP end a session as Ctrl-C does: with summary, files and journal."""

from collections.abc import Generator

import pytest

from pytest_dlbench.running.interrupts import Interrupts, TerminatedError


class Signals:
    """Registered in sessions with benchmarks, once all tests are known."""

    def __init__(self, config: pytest.Config) -> None:
        # pytest-xdist recognises a worker that was interrupted by pytest's own status.
        self._is_worker = hasattr(config, "workerinput")
        self._status: int | None = None
        self._interrupts = Interrupts()
        self._interrupts.handle()

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupts.ending()
        if isinstance(excinfo.value, TerminatedError) and not self._is_worker:
            self._status = excinfo.value.status

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        found = yield
        # All tests have run, and what is left to do is done whatever comes.
        self._interrupts.ending()
        return found

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        self._interrupts.ending()
        try:
            return (yield)
        finally:
            # Only now: pytest prints a summary for its own statuses only.
            if self._status is not None:
                session.exitstatus = self._status

    def pytest_unconfigure(self) -> None:
        self._interrupts.restore()
