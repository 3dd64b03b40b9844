"""Progress of pytest-xdist's processes on a cluster: what each of them does, in the lines of one terminal.

The processes have no terminal, and pytest-xdist carries reports only: the lines pass through a named pipe.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import msgspec
import pytest

from pytest_dlbench.options import Options
from pytest_dlbench.plugin.agenda import Collected
from pytest_dlbench.reporting.progress import ERASED, Live

# A line of this size is written to a pipe at once, or not at all.
LINE_BYTES = 4096
MOST_CHARACTERS = 1000
BETWEEN = " | "


class Inlet:
    """The end of the terminal: ``show`` is called in a thread with the name of a process and what it writes."""

    def __init__(self, show: Callable[[str, str], None]) -> None:
        self._show = show
        self._folder = TemporaryDirectory(prefix="dlbench-progress-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name) / "lines"
        os.mkfifo(self.path, 0o600)
        # Also for writing: otherwise this would wait for the first process, and end with the last one.
        self._pipe = os.open(self.path, os.O_RDWR)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def close(self) -> None:
        """Show what has come, and remove the pipe."""
        os.write(self._pipe, b"\n")
        self._reader.join()
        os.close(self._pipe)
        self._folder.cleanup()

    def _read(self) -> None:
        read = b""
        while chunk := os.read(self._pipe, LINE_BYTES):
            *whole, read = (read + chunk).split(b"\n")
            for line in whole:
                if not line:
                    return
                # Without a reader the processes would fill the pipe, and closing it would wait for room.
                with suppress(OSError):
                    self._show(*msgspec.json.decode(line, type=tuple[str, str]))


class Outlet:
    """The end of a process: the screen of its lines. ``host`` returns the one that is leased now."""

    def __init__(self, asked: Mapping[str, Any], name: str, host: Callable[[], str]) -> None:
        self.is_rewritable, self.columns = bool(asked["rewritable"]), int(asked["columns"])
        self._name, self._host = name, host
        # Fails at once where nobody reads it.
        self._pipe = os.open(asked["path"], os.O_WRONLY | os.O_NONBLOCK)

    def write(self, text: str) -> None:
        """Pass it on, unless the terminal's end is gone or busy."""
        if text.startswith(ERASED) and text != ERASED and (host := self._host()):
            text = f"{ERASED}{host}: {text.removeprefix(ERASED)}"
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._pipe, msgspec.json.encode((self._name, text[:MOST_CHARACTERS])) + b"\n")


class Unplanned(Collected):
    """The tests of all processes: the time that is left is not known to one of them."""

    def of_run(self, number: int) -> float:  # noqa: ARG002 - the interface
        """Unknown."""
        return 0.0

    def after(self, number: int, runs: int) -> float:  # noqa: ARG002 - the interface
        """Unknown."""
        return 0.0


class Relaying:
    """A plugin of a process of pytest-xdist: its progress."""

    def __init__(self, outlet: Outlet, agenda: Unplanned, options: Options) -> None:
        self._agenda = agenda
        self.progress = Live(outlet, agenda, options.budget)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Number the tests."""
        self._agenda.collect(session.items)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._agenda.begin(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        """A test has ended: what it did is no longer shown."""
        self.progress.clear()


class Joined:
    """What the processes are doing, in one line that is overwritten."""

    def __init__(self, progress: Live) -> None:
        self._progress = progress
        self._doing: dict[str, str] = {}

    def show(self, process: str, text: str) -> None:
        """Show a line of its own, or the part of a process."""
        if text.endswith("\n"):
            self._progress.line(text)
        elif doing := text.removeprefix(ERASED):
            self._doing[process] = doing
            self._progress.doing(BETWEEN.join(self._doing.values()))
        else:
            self._doing.pop(process, None)


def asked(path: Path, *, columns: int, processes: int, is_rewritable: bool) -> dict[str, Any]:
    """What a process needs to know: it has a part of a line."""
    part = max(1, (columns - len(BETWEEN) * (processes - 1)) // max(1, processes))
    return {"path": str(path), "columns": part, "rewritable": is_rewritable}
