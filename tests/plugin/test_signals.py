"""Sessions that are ended by a signal: what was measured is kept, nothing else is left, and the output is short."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import psutil
import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records.reasons import NotExamined
from pytest_dlbench.running import devices
from pytest_dlbench.sampling import survivors
from pytest_dlbench.sampling.survivors import DRIVER
from pytest_dlbench.storing import Damage, read_journal
from tests.running.processes import IN_VAIN, PATIENCE_SECONDS, is_running, wait_for

# If these tests run in the background of a shell, they ignore Ctrl-C, and their child processes would.
# A shell that runs these tests in the background may make them ignore signals.
PYTEST = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.exit(pytest.main())
"""
STATUS = {signal.SIGINT: 2, signal.SIGTERM: 143, signal.SIGHUP: 129}
CASE = "training-numpy-softmax-digits-cpu-smoke"
every_signal = pytest.mark.parametrize("number", STATUS, ids=lambda number: number.name)


class Session:
    """A session in its own process group, whose temporary files are in ``temporary``."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.folder, self.temporary, self.process = folder, folder / "tmp", process

    def hangs(self) -> None:
        """Wait until the double has trained once and hangs in its second run."""
        wait_for(lambda: (self.temporary / "hangs").exists() or self.process.poll() is not None)

    def end(self, number: signal.Signals, *, is_group: bool = False) -> str:
        """Send a signal; returns all output."""
        (os.killpg if is_group else os.kill)(self.process.pid, number)
        return self.process.communicate(timeout=PATIENCE_SECONDS)[0]

    def case(self) -> dict:
        """The only case of the JSON file."""
        (case,) = json.loads((self.folder / "all.json").read_text())["cases"]
        return case

    def entries(self) -> list:
        """All entries of the journals."""
        return [entry for path in self.folder.glob(".dlbench/*.jsonl") for entry in read_journal(path)]

    def left(self) -> list[str]:
        """Processes and temporary files that it has left."""
        files = [path.name for path in self.temporary.glob("dlbench-*")]
        return [*files, *(process.name() for process in psutil.process_iter() if self._is_ours(process))]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            is_of_session = process.ppid() != os.getpid()
            return is_of_session and process.environ().get("TMPDIR") == str(self.temporary) and is_running(process)
        except psutil.Error:
            return False


@pytest.fixture
def begin(suite, monkeypatch) -> Iterator[Callable[..., Session]]:
    """Start a session with a double that hangs in its second run, unless the suite was rewritten."""
    suite.write(builder="hangs_after_one_run")
    (suite.path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(suite.path / "tmp"))
    begun = []

    def begin(*arguments: str) -> Session:
        command = [sys.executable, "-c", PYTEST, "--dlbench-scale=smoke", "--dlbench-json=all.json", *arguments]
        process = subprocess.Popen(
            command, cwd=suite.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        begun.append(process)
        return Session(suite.path, process)

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


class TestAfterOneRun:
    @every_signal
    def test_the_run_is_kept_everywhere_and_nothing_is_left(self, begin, number):
        session = begin("--dlbench-html=all.html")
        session.hangs()
        output = session.end(number)
        assert session.process.returncode == STATUS[number]
        case = session.case()
        assert [run["outcome"] for run in case["record"]["runs"]] == ["finished"]
        assert case["result"]["outcome"] == "inconclusive"
        assert case["result"]["reasons"] == [{"kind": "interrupted", "runs": 1, "planned": 3}]
        assert "not judged: the session was ended after 1 of 3" in (session.folder / "all.html").read_text()
        assert [bool(entry.run) for entry in session.entries()] == [True, False]
        assert "interrupted: 0 of 1 cases finished" in output
        assert "not judged: the session was ended after 1 of 3 runs of this case" in output
        assert "nothing was trained" not in output
        assert session.left() == []

    def test_a_test_that_requests_the_fixture_as_it_runs_is_kept_too(self, begin, suite):
        suite.write(
            builder="hangs_after_one_run",
            test="def test_training(request):\n"
            "    request.getfixturevalue('dlbench').train('numpy', 'softmax', 'digits')\n",
        )
        session = begin()
        session.hangs()
        output = session.end(signal.SIGTERM)
        assert session.process.returncode == STATUS[signal.SIGTERM]
        assert [run["outcome"] for run in session.case()["record"]["runs"]] == ["finished"]
        assert "not judged: the session was ended after 1 of 3 runs of this case" in output
        assert session.left() == []

    def test_a_signal_that_comes_twice_does_not_disturb_the_end(self, begin):
        session = begin()
        session.hangs()
        for _ in range(2):
            os.kill(session.process.pid, signal.SIGTERM)
        session.end(signal.SIGHUP)
        assert session.process.returncode in (STATUS[signal.SIGTERM], STATUS[signal.SIGHUP])
        assert len(session.case()["record"]["runs"]) == 1
        assert session.left() == []

    # Ctrl-C and a closed terminal reach the whole group; who ends a job, its first process or all.
    @pytest.mark.parametrize(
        ("number", "is_group"),
        [(signal.SIGINT, True), (signal.SIGHUP, True), (signal.SIGTERM, True), (signal.SIGTERM, False)],
        ids=["SIGINT-group", "SIGHUP-group", "SIGTERM-group", "SIGTERM-controller"],
    )
    def test_with_xdist_the_controller_keeps_what_its_workers_measured(self, begin, number, is_group):
        session = begin("-p", "xdist", "-n2")
        session.hangs()
        session.end(number, is_group=is_group)
        assert session.process.returncode == STATUS[number]
        assert [run["outcome"] for run in session.case()["record"]["runs"]] == ["finished"]
        assert not [entry for entry in session.entries() if isinstance(entry, Damage)]
        wait_for(lambda: session.left() == [])

    def test_in_pairs_the_run_is_kept_too(self, suite, begin):
        suite.write(builder="hangs_after_one_run", more={"other": "numpy_softmax"})
        session = begin("--dlbench-ab=other,numpy", "--dlbench-allow=invalid")
        session.hangs()
        session.end(signal.SIGTERM)
        assert len([entry for entry in session.entries() if entry.run]) >= 1
        assert session.left() == []

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pexpect forks; this process has no threads then
    @pytest.mark.usefixtures("begin")
    # With colours, a progress line is on the screen.
    @pytest.mark.parametrize("colours", ["0", "1"])
    def test_a_closed_terminal_leaves_the_files(self, suite, monkeypatch, colours):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("PY_COLORS", colours)
        monkeypatch.delenv("CI", raising=False)
        command = ["-c", PYTEST, "--dlbench-scale=smoke", "--dlbench-json=all.json"]
        child = pexpect.spawn(sys.executable, command, cwd=str(suite.path), timeout=60)
        session = Session(suite.path, psutil.Process(child.pid))
        wait_for((session.temporary / "hangs").exists)
        # Not child.close(), which would also send signals.
        child.ptyproc.fileobj.close()
        child.closed = child.ptyproc.closed = True
        wait_for((suite.path / "all.json").exists)
        assert len(session.case()["record"]["runs"]) == 1
        wait_for(lambda: session.left() == [])
        # A zombie would be left to other tests, which look for such.
        session.process.wait(PATIENCE_SECONDS)


# Where a signal meets no run: lines of a conftest.py that send it at that moment, and the status of the session.
MOMENTS = {
    "as a result is settled": (
        """
from pytest_dlbench import judging
own = judging.with_validity
def settled(*given):
    os.kill(os.getpid(), signal.SIGTERM)
    return own(*given)
judging.with_validity = settled
""",
        STATUS[signal.SIGTERM],
    ),
    "after the last test": (
        """
own = os.chdir
def chdir(path):
    if sys._getframe(1).f_code.co_name == "wrap_session":
        os.kill(os.getpid(), signal.SIGTERM)
    own(path)
os.chdir = chdir
""",
        0,
    ),
}


@pytest.mark.parametrize(("lines", "status"), MOMENTS.values(), ids=MOMENTS)
def test_a_signal_between_the_runs_and_the_end_loses_no_result(suite, begin, lines, status):
    suite.write()
    conftest = suite.path / "conftest.py"
    conftest.write_text(f"import os, signal, sys\n{lines}\n{conftest.read_text()}")
    session = begin("--dlbench-runs=1")
    output = session.process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert session.process.returncode == status, output
    assert session.case()["result"]["outcome"] == "no_baseline"
    assert [bool(entry.run) for entry in session.entries()][:2] == [True, False]


EXAMINED = """
from pytest_dlbench.workflows.validity import Examiner
def examine(*_):
    os.kill(os.getpid(), signal.SIGTERM)
Examiner.examine = examine
"""


@pytest.mark.parametrize(("options", "runs"), [((), 1), (("--dlbench-ab=other,numpy",), 2)], ids=["single", "pair"])
def test_a_signal_between_a_run_and_its_examination_loses_no_run(suite, begin, options, runs):
    suite.write(more={"other": "clocked"})
    conftest = suite.path / "conftest.py"
    conftest.write_text(f"import os, signal\n{EXAMINED}\n{conftest.read_text()}")
    session = begin("--dlbench-runs=1", *options)
    output = session.process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert session.process.returncode == STATUS[signal.SIGTERM], output
    kept = [entry.run for entry in session.entries() if entry.run]
    assert [run.outcome for run in kept] == [RunOutcome.FINISHED] * runs
    assert [run.invalid for run in kept] == [(NotExamined(said="TerminatedError: SIGTERM received"),)] * runs
    result = session.case()["result"]
    assert result["reasons"][0]["kind"] == "interrupted"
    # Nobody knows whether they are plausible: no table shows them.
    assert result["figures"] == {}


def test_a_signal_that_the_caller_ignores_stays_ignored(begin):
    session = begin()
    ignoring = PYTEST.replace("SIG_DFL", "SIG_IGN")
    session.hangs()
    session.end(signal.SIGTERM)
    command = [sys.executable, "-c", ignoring, "--dlbench-scale=smoke", "--dlbench-runs=1"]
    (session.temporary / "hangs").unlink()
    with subprocess.Popen(command, cwd=session.folder, stdout=subprocess.DEVNULL) as process:
        wait_for((session.temporary / "hangs").exists)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == STATUS[signal.SIGTERM]


class TestWaiting:
    @pytest.fixture
    def waiting(self, suite, begin):
        """A session that waits for this process."""
        suite.write(models=("softmax", "two-layers", "hkbu-resnet-56", "gatech-lenet"))
        with devices.held("cpu", IN_VAIN):
            session = begin()
            line = ""
            while not line.startswith("waiting for cpu"):
                line = session.process.stdout.readline()
                assert line
            yield session, line

    def test_names_this_process(self, waiting):
        _, line = waiting
        assert f"(process {os.getpid()}: " in line
        assert "--dlbench-wait=TIME" in line

    @every_signal
    def test_can_be_ended_and_says_so_in_one_line(self, waiting, number):
        session, _ = waiting
        output = session.end(number)
        assert session.process.returncode == STATUS[number]
        assert "skipped" not in output
        assert "nothing was trained" not in output
        assert "interrupted: 0 of 2 cases finished" in output
        assert session.left() == []


def test_a_device_that_does_not_become_free_in_time_fails_the_case_and_names_the_holder(suite):
    with devices.held("cpu", IN_VAIN):
        result = suite.run("--dlbench-wait=never", "--dlbench-json=all.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"timeout: {CASE}", f"*cpu did not become free at once: *(process {os.getpid()}: *"])
    (case,) = json.loads((suite.path / "all.json").read_text())["cases"]
    assert case["result"]["outcome"] == "timeout"


def test_in_pairs_a_device_that_does_not_become_free_in_time_fails_the_case(suite):
    suite.write(more={"other": "numpy_softmax"})
    with devices.held("cpu", IN_VAIN):
        result = suite.run("--dlbench-wait=never", "--dlbench-ab=other,numpy")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"timeout: {CASE}", "*cpu did not become free at once: *"])


def test_what_a_killed_session_left_running_is_ended_with_a_line(suite, monkeypatch):
    # Of a namespace that no other session on this machine has: one of those would be faster.
    monkeypatch.setattr(survivors, "_namespace", lambda _: "of-this-test")
    sleeps = "print(flush=True); import time; time.sleep(600)"
    command = [sys.executable, "-S", "-c", sleeps]
    # A driver with this process id started at another time.
    with subprocess.Popen(command, env={DRIVER: f"of-this-test:{os.getpid()}:1"}, stdout=subprocess.PIPE) as orphan:
        orphan.stdout.readline()
        result = suite.run("--dlbench-runs=1")
        assert orphan.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    result.stdout.fnmatch_lines([f"dlbench: ended what a killed session had left running: *({orphan.pid})*"])
