"""Real sessions in processes of their own, which train a NumPy double and are ended while they do."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import psutil

from pytest_dlbench.storing import Damage, Entry, read_journal
from tests.plugin.conftest import BUILDERS, CONFTEST, TEST
from tests.running.processes import is_running, wait_for

# If this runs in the background of a shell, it ignores Ctrl-C, and its child processes would.
PYTEST = "import signal, sys, pytest; signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(pytest.main())"
PATIENCE_SECONDS = 60.0
OPTIONS = ("--dlbench-scale=smoke", "--dlbench-runs=2", "--dlbench-json=all.json", "-p", "dlbench")


class Suite:
    """A repository in ``folder``, whose sessions have their own folder for temporary files."""

    def __init__(self, folder: Path, cache: Path, *, builder: str = "numpy_softmax") -> None:
        self.folder, self.temporary = folder, folder / "tmp"
        self.temporary.mkdir(parents=True)
        names, models = ["numpy"], ["softmax", "two-layers"]
        text = CONFTEST.format(
            folder=str(BUILDERS), frameworks={"numpy": builder}, names=names, models=models, rate=0.1
        )
        (folder / "conftest.py").write_text(text)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_suite.py").write_text(TEST)
        own = {"XDG_CACHE_HOME": str(cache), "TMPDIR": str(self.temporary), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        self.environment = {**os.environ, **own}

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a session in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-c", PYTEST, *OPTIONS, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        """The exit status and the output of a whole session."""
        with self.begin(*arguments) as process:
            output = process.communicate(timeout=PATIENCE_SECONDS)[0]
        return process.returncode, output

    def ended_after(self, seconds: float, number: signal.Signals) -> str:
        """The output of a session to which a signal is sent after that time."""
        with self.begin() as process:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
            return process.communicate(timeout=PATIENCE_SECONDS)[0]

    def entries(self) -> Sequence[Entry | Damage]:
        """Everything in the journals."""
        return [entry for path in sorted(self.folder.glob(".dlbench/*.jsonl")) for entry in read_journal(path)]

    def runs_in_journals(self) -> set[tuple[str, int]]:
        """Case and seed of every run."""
        found = (entry.run for entry in self.entries() if isinstance(entry, Entry))
        return {(run.case, run.seed) for run in found if run}

    def runs_in_document(self) -> set[tuple[str, int]]:
        """Case and seed of every run; none without a document."""
        path = self.folder / "all.json"
        cases = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []
        return {(run["case"], run["seed"]) for case in cases for run in case["record"]["runs"]}

    def temporary_folders(self) -> list[str]:
        """What sessions have left there."""
        return [path.name for path in self.temporary.glob("dlbench-*")]

    def check_that_no_process_is_left(self) -> None:
        """Raises TimeoutError."""
        wait_for(lambda: not any(map(self._is_of_session, psutil.process_iter())))

    def _is_of_session(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("TMPDIR") == str(self.temporary) and is_running(process)
        except psutil.Error:
            return False


def seconds_of(suite: Suite) -> float:
    """How long a session takes that nobody disturbs."""
    began = monotonic()
    status, output = suite.run()
    assert status == 0, output
    return monotonic() - began
