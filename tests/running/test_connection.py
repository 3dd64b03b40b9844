"""The connection to misbehaving workers: each is a real process, and none of them harms the driver."""

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records.problems import BadAnswer, Problem, TimedOut
from pytest_dlbench.running import connection, failures
from pytest_dlbench.running.connection import BrokenProtocolError, Worker, WorkerDiedError, WorkerTimeoutError

WORKERS = Path(__file__).parents[1] / "doubles" / "workers"
# Seconds for one request. No answer here takes a second; workers that never answer get SHORT.
LONG, SHORT = 60.0, 0.3
PATIENCE_SECONDS = 20.0


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Every test leaves as many open files and child processes as before."""
    before = _open_files(), psutil.Process().children(recursive=True)
    yield
    assert (_open_files(), psutil.Process().children(recursive=True)) == before


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Worker]:
    """Start a double of tests/doubles/workers/ by its name."""

    def start(name: str, *arguments: str) -> Worker:
        # Without site-packages, which these doubles do not need: they start in half the time.
        command = [sys.executable, "-S", "-s", str(WORKERS / f"{name}.py"), *arguments]
        return Worker(command, {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}, tmp_path)

    return start


@pytest.fixture
def short_exit_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """For workers that never exit."""
    monkeypatch.setattr(connection, "EXIT_SECONDS", 0.05)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def ask(worker: Worker, *, seconds: float = LONG, **fields: Any) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    return worker.request("train", deadline=deadline, waiting=lambda: None, period_seconds=0.05, **fields)


def ending(worker: Worker, error: connection.WorkerError) -> tuple[RunOutcome, Problem]:
    return failures.explain(error, worker, failures.memory_kills(), LONG)


def _has_ended(pid: int) -> bool:
    """Whether a process ends soon; a zombie counts as ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


class TestGoodWorker:
    def test_answers_one_request_after_another(self, start):
        with start("echoes") as worker:
            lengths = [ask(worker, text="x" * count)["length"] for count in (0, 10)]
        assert lengths[1] == lengths[0] + 10

    def test_receives_a_request_larger_than_a_pipe(self, start):
        with start("echoes") as worker:
            assert ask(worker, text="x" * 2**20)["length"] > 2**20

    def test_may_print_megabytes_without_disturbing_the_protocol(self, start, tmp_path):
        with start("chatters") as worker:
            assert ask(worker) == {"status": "done"}
            assert (tmp_path / "worker.log").stat().st_size > 2**23

    def test_has_a_log_tail_even_if_the_log_is_deleted(self, start, tmp_path):
        with start("chatters") as worker:
            (tmp_path / "worker.log").unlink()
            ask(worker)
            assert worker.log_tail()[-1] == "the last line"

    def test_has_a_log_tail_of_readable_length(self, start):
        with start("chatters") as worker:
            ask(worker)
            tail = worker.log_tail()
        assert tail[-1] == "the last line"
        assert sum(map(len, tail)) < 2**16

    def test_is_sampled_while_the_driver_waits(self, start):
        calls = []
        with start("never_answers") as worker, pytest.raises(WorkerTimeoutError):
            worker.request(
                "train", deadline=time.monotonic() + 1, waiting=lambda: calls.append(None), period_seconds=0.1
            )
        assert 5 <= len(calls) <= 10

    def test_does_not_inherit_the_drivers_environment(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SECRET_TOKEN", "1")
        command = [sys.executable, "-S", "-c", "import os; print(sorted(os.environ))"]
        with Worker(command, {"LC_ALL": "C"}, tmp_path) as worker:
            worker.exit_status()
            (line,) = worker.log_tail()
        assert "SECRET_TOKEN" not in line
        assert "LC_ALL" in line

    def test_leads_its_own_session(self, start):
        with start("echoes") as worker:
            assert os.getsid(worker.pid) == worker.pid != os.getsid(0)


class TestDeath:
    @pytest.mark.parametrize(
        ("how", "name"),
        [("abort", "SIGABRT"), ("SIGSEGV", "SIGSEGV"), ("SIGKILL", "SIGKILL"), ("SIGILL", "SIGILL")],
    )
    def test_by_a_signal_is_reported_with_its_name_and_the_last_lines(self, start, how, name):
        with start("dies", how) as worker:
            with pytest.raises(WorkerDiedError, match="train") as caught:
                ask(worker)
            outcome, problem = ending(worker, caught.value)
            log = worker.log_tail()
        assert outcome is RunOutcome.CRASHED
        assert (problem.cause, problem.number) == ("signal", signal.Signals[name])
        assert log[-1] == "*** Error in `python': free(): invalid pointer"
        assert log[-2] == "line 29"
        assert len(log) == connection.LOG_LINES

    @pytest.mark.parametrize("status", [0, 3])
    def test_by_exit_is_reported_with_its_status(self, start, status):
        with start("exits", str(status)) as worker:
            with pytest.raises(WorkerDiedError) as caught:
                ask(worker)
            outcome, problem = ending(worker, caught.value)
            assert worker.log_tail() == ("giving up",)
        assert outcome is RunOutcome.CRASHED
        assert (problem.cause, problem.number) == ("status", status)

    def test_between_two_requests_is_reported(self, start):
        with start("forks", "answers") as worker:
            ask(worker)
            worker.exit_status()
            with pytest.raises(WorkerDiedError, match="train"):
                ask(worker, seconds=LONG)

    def test_is_noticed_at_once_even_if_a_child_holds_the_pipe(self, start):
        with start("forks", "dies") as worker:
            began = time.monotonic()
            with pytest.raises(WorkerDiedError) as caught:
                ask(worker)
            assert time.monotonic() - began < LONG / 4
            assert ending(worker, caught.value)[1].number == signal.SIGKILL
            child = int(worker.log_tail()[0])
        assert _has_ended(child)

    @pytest.mark.usefixtures("short_exit_timeout")
    def test_that_is_only_a_closed_pipe_is_not_a_crash(self, start):
        with start("closes_its_pipe") as worker:
            with pytest.raises(WorkerDiedError) as caught:
                ask(worker)
            outcome, problem = ending(worker, caught.value)
        assert (outcome, problem.cause) == (RunOutcome.BROKEN_PROTOCOL, "pipe")


@pytest.mark.usefixtures("short_exit_timeout")
class TestGarbage:
    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            (b"Epoch 1/10: loss 2.30\n", "not_json"),
            (b"\xff\xfe\n", "not_json"),
            (b"\n", "not_json"),
            (b'{"status": "done"\n', "not_json"),
            (b'{"status": "done", "loss": NaN}\n', "not_json"),
            (b'{"status": "done", "loss": -Infinity}\n', "not_json"),
            (b'{"loss": 2.3}\n', "no_status"),
            (b'{"status": "fine"}\n', "no_status"),
            (b'{"status": ["done"]}\n', "no_status"),
            (b"[1, 2]\n", "no_status"),
            (b'{"status": "done"}\n{"status": "done"}\n', "several"),
            (b'{"status": "done"}\nand', "several"),
        ],
    )
    def test_is_quoted(self, start, data, fault):
        with start("talks_rubbish", data.hex()) as worker:
            with pytest.raises(BrokenProtocolError, match="train") as caught:
                ask(worker)
            outcome, problem = ending(worker, caught.value)
        assert (outcome, problem.request, problem.fault) == (RunOutcome.BROKEN_PROTOCOL, "train", fault)
        assert 3 <= len(problem.quoted) < 200

    def test_nested_too_deeply_to_parse_is_reported(self, start):
        with start("nests_deeply") as worker, pytest.raises(BrokenProtocolError) as caught:
            ask(worker)
        assert caught.value.problem.fault == "not_json"

    def test_without_end_is_cut_off(self, start):
        with start("never_stops") as worker, pytest.raises(BrokenProtocolError) as caught:
            ask(worker)
        limit = connection.MAX_REPLY_BYTES
        assert caught.value.problem == BadAnswer(request="train", fault="too_long", limit_bytes=limit)

    def test_half_an_answer_times_out(self, start):
        with start("talks_rubbish", b'{"status": '.hex()) as worker, pytest.raises(WorkerTimeoutError):
            ask(worker, seconds=SHORT)


class TestSilence:
    def test_ends_at_the_deadline(self, start):
        with start("never_answers") as worker:
            began = time.monotonic()
            with pytest.raises(WorkerTimeoutError, match="train") as caught:
                ask(worker, seconds=SHORT)
            assert SHORT <= time.monotonic() - began < SHORT + 5
            found = ending(worker, caught.value)
        assert found == (RunOutcome.TIMEOUT, TimedOut(request="train", limit_seconds=LONG))

    def test_of_a_worker_that_never_reads_ends_at_the_deadline(self, start):
        with start("never_reads") as worker, pytest.raises(WorkerTimeoutError):
            ask(worker, seconds=SHORT, text="x" * 2**24)

    def test_with_a_deadline_in_the_past_times_out(self, start):
        with start("never_answers") as worker, pytest.raises(WorkerTimeoutError):
            ask(worker, seconds=-1)


class TestEnd:
    def test_also_ends_what_the_worker_started(self, start):
        with start("forks", "answers") as worker:
            ask(worker)
            child = int(worker.log_tail()[0])
        assert _has_ended(child)

    @pytest.mark.usefixtures("short_exit_timeout")
    def test_of_a_worker_that_does_not_exit_is_forced(self, start):
        with start("never_answers") as worker:
            began = time.monotonic()
        assert time.monotonic() - began < 5
        assert _has_ended(worker.pid)

    def test_follows_an_interrupt_of_the_driver(self, start):
        with pytest.raises(KeyboardInterrupt), start("never_answers") as worker:
            raise KeyboardInterrupt
        assert _has_ended(worker.pid)

    def test_follows_an_interrupt_while_waiting_for_the_exit(self, start, monkeypatch):
        with pytest.raises(KeyboardInterrupt), start("never_answers") as worker:
            monkeypatch.setattr(worker, "exit_status", _interrupt)
        assert _has_ended(worker.pid)

    def test_by_kill_works_twice(self, start):
        with start("never_answers") as worker:
            worker.kill()
            worker.kill()


def _interrupt() -> int:
    raise KeyboardInterrupt


def test_a_missing_interpreter_leaves_no_file_open(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        Worker([str(tmp_path / "python2.3")], {}, tmp_path)
    assert caught.value.errno == errno.ENOENT
