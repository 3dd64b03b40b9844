"""The connection against workers that misbehave: each is a real process, none of them harms the driver."""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running import connection, failures
from pytest_dlbench.running.connection import BrokenProtocolError, Worker, WorkerDiedError, WorkerTimeoutError

WORKERS = Path(__file__).parents[1] / "doubles" / "workers"
# Of one request. Nothing here takes a second; what never answers gets SHORT.
LONG, SHORT = 60.0, 0.3
PATIENCE_SECONDS = 20.0


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """After every test there are as many open files and as many child processes as before."""
    before = _open_files(), psutil.Process().children(recursive=True)
    yield
    assert (_open_files(), psutil.Process().children(recursive=True)) == before


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Worker]:
    """Start a double of tests/doubles/workers/ by its name."""

    def start(name: str, *arguments: str) -> Worker:
        # Isolated, without site-packages: these doubles need nothing, and start in half the time.
        command = [sys.executable, "-S", "-s", str(WORKERS / f"{name}.py"), *arguments]
        return Worker(command, {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}, tmp_path)

    return start


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For workers that never end by themselves."""
    monkeypatch.setattr(connection, "EXIT_SECONDS", 0.05)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def ask(worker: Worker, *, seconds: float = LONG, **fields: Any) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    return worker.request("train", deadline=deadline, waiting=lambda: None, period_seconds=0.05, **fields)


def ending(worker: Worker, error: connection.WorkerError) -> tuple[RunOutcome, str]:
    return failures.explain(error, worker, failures.memory_kills(), LONG)


def _is_gone(pid: int) -> bool:
    """Whether a process ends soon; one that nobody has waited for yet counts as gone."""
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

    def test_gets_a_request_that_no_pipe_holds_at_once(self, start):
        with start("echoes") as worker:
            assert ask(worker, text="x" * 2**20)["length"] > 2**20

    def test_may_print_megabytes_without_a_word_of_it_in_the_protocol(self, start):
        with start("chatters") as worker:
            assert ask(worker) == {"status": "done"}
            assert worker.log_path.stat().st_size > 2**23

    def test_has_its_last_lines_told_at_a_length_that_can_be_read(self, start):
        with start("chatters") as worker:
            ask(worker)
            tail = worker.log_tail()
        assert tail[-1] == "the last line"
        assert sum(map(len, tail)) < 2**16

    def test_is_watched_while_the_driver_waits(self, start):
        calls = []
        with start("never_answers") as worker, pytest.raises(WorkerTimeoutError):
            worker.request(
                "train", deadline=time.monotonic() + 1, waiting=lambda: calls.append(None), period_seconds=0.1
            )
        assert 5 <= len(calls) <= 10

    def test_sees_nothing_of_the_drivers_environment(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SECRET_TOKEN", "1")
        command = [sys.executable, "-S", "-c", "import os; print(sorted(os.environ))"]
        with Worker(command, {"LC_ALL": "C"}, tmp_path) as worker:
            worker.exit_status()
            (line,) = worker.log_tail()
        assert "SECRET_TOKEN" not in line
        assert "LC_ALL" in line

    def test_leads_a_session_of_its_own(self, start):
        with start("echoes") as worker:
            assert os.getsid(worker.pid) == worker.pid != os.getsid(0)


class TestDeath:
    @pytest.mark.parametrize(
        ("how", "name"),
        [("abort", "SIGABRT"), ("SIGSEGV", "SIGSEGV"), ("SIGKILL", "SIGKILL"), ("SIGILL", "SIGILL")],
    )
    def test_by_a_signal_is_told_with_its_name_and_the_last_words(self, start, how, name):
        with start("dies", how) as worker:
            with pytest.raises(WorkerDiedError, match="'train'") as caught:
                ask(worker)
            outcome, message = ending(worker, caught.value)
            log = worker.log_tail()
        assert outcome is RunOutcome.CRASHED
        assert f"killed by {name}" in message
        assert log[-1] == "*** Error in `python': free(): invalid pointer"
        assert log[-2] == "line 29"
        assert len(log) == connection.LOG_LINES

    @pytest.mark.parametrize("status", [0, 3])
    def test_by_exit_is_told_with_its_status(self, start, status):
        with start("exits", str(status)) as worker:
            with pytest.raises(WorkerDiedError) as caught:
                ask(worker)
            outcome, message = ending(worker, caught.value)
            assert worker.log_tail() == ("giving up",)
        assert outcome is RunOutcome.CRASHED
        assert f"exit status {status}" in message

    def test_between_two_requests_is_told_too(self, start):
        with start("forks", "answers") as worker:
            ask(worker)
            worker.exit_status()
            with pytest.raises(WorkerDiedError, match="'train'"):
                ask(worker, seconds=LONG)

    def test_is_noticed_at_once_while_a_child_of_it_holds_the_pipe(self, start):
        with start("forks", "dies") as worker:
            began = time.monotonic()
            with pytest.raises(WorkerDiedError) as caught:
                ask(worker)
            assert time.monotonic() - began < LONG / 4
            assert "SIGKILL" in ending(worker, caught.value)[1]
            child = int(worker.log_tail()[0])
        assert _is_gone(child)

    @pytest.mark.usefixtures("impatient")
    def test_that_was_only_played_is_no_crash(self, start):
        with start("closes_its_pipe") as worker:
            with pytest.raises(WorkerDiedError) as caught:
                ask(worker)
            outcome, message = ending(worker, caught.value)
        assert outcome is RunOutcome.BROKEN_PROTOCOL
        assert "closed its pipe" in message
        assert "SIGKILL" not in message


@pytest.mark.usefixtures("impatient")
class TestRubbish:
    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"Epoch 1/10: loss 2.30\n", "not JSON"),
            (b"\xff\xfe\n", "not JSON"),
            (b"\n", "not JSON"),
            (b'{"status": "done"\n', "not JSON"),
            (b'{"status": "done", "loss": NaN}\n', "not JSON"),
            (b'{"status": "done", "loss": -Infinity}\n', "not JSON"),
            (b'{"loss": 2.3}\n', "no status"),
            (b'{"status": "fine"}\n', "no status"),
            (b'{"status": ["done"]}\n', "no status"),
            (b"[1, 2]\n", "no status"),
            (b'{"status": "done"}\n{"status": "done"}\n', "more than one answer"),
            (b'{"status": "done"}\nand', "more than one answer"),
        ],
    )
    def test_is_quoted(self, start, data, words):
        with start("talks_rubbish", data.hex()) as worker:
            with pytest.raises(BrokenProtocolError, match="'train'") as caught:
                ask(worker)
            outcome, message = ending(worker, caught.value)
        assert outcome is RunOutcome.BROKEN_PROTOCOL
        assert words in message
        assert len(message) < 300

    def test_that_is_nested_deeper_than_json_can_be_read_is_quoted_too(self, start):
        with start("nests_deeply") as worker, pytest.raises(BrokenProtocolError, match="not JSON"):
            ask(worker)

    def test_without_end_is_ended(self, start):
        with start("never_stops") as worker, pytest.raises(BrokenProtocolError, match="longer than"):
            ask(worker)

    def test_that_is_half_an_answer_is_waited_for_no_longer_than_allowed(self, start):
        with start("talks_rubbish", b'{"status": '.hex()) as worker, pytest.raises(WorkerTimeoutError):
            ask(worker, seconds=SHORT)


class TestSilence:
    def test_ends_when_the_time_is_over(self, start):
        with start("never_answers") as worker:
            began = time.monotonic()
            with pytest.raises(WorkerTimeoutError, match="no answer to 'train' in time") as caught:
                ask(worker, seconds=SHORT)
            assert SHORT <= time.monotonic() - began < SHORT + 5
            outcome, message = ending(worker, caught.value)
        assert outcome is RunOutcome.TIMEOUT
        assert "--dlbench-timeout" in message

    def test_ends_it_though_nothing_is_read(self, start):
        with start("never_reads") as worker, pytest.raises(WorkerTimeoutError):
            ask(worker, seconds=SHORT, text="x" * 2**24)

    def test_before_a_deadline_that_is_over_already_is_no_answer(self, start):
        with start("never_answers") as worker, pytest.raises(WorkerTimeoutError):
            ask(worker, seconds=-1)


class TestEnd:
    def test_takes_along_what_the_worker_started(self, start):
        with start("forks", "answers") as worker:
            ask(worker)
            child = int(worker.log_tail()[0])
        assert _is_gone(child)

    @pytest.mark.usefixtures("impatient")
    def test_of_a_worker_that_will_not_go_is_by_force(self, start):
        with start("never_answers") as worker:
            began = time.monotonic()
        assert time.monotonic() - began < 5
        assert _is_gone(worker.pid)

    def test_comes_with_an_interruption_of_the_driver(self, start):
        with pytest.raises(KeyboardInterrupt), start("never_answers") as worker:
            raise KeyboardInterrupt
        assert _is_gone(worker.pid)

    def test_comes_with_an_interruption_of_the_waiting_for_it(self, start, monkeypatch):
        with pytest.raises(KeyboardInterrupt), start("never_answers") as worker:
            monkeypatch.setattr(worker, "exit_status", _interrupt)
        assert _is_gone(worker.pid)

    def test_may_be_asked_for_twice(self, start):
        with start("never_answers") as worker:
            worker.kill()
            worker.kill()


def _interrupt() -> int:
    raise KeyboardInterrupt


def test_a_python_that_is_not_there_leaves_nothing_open(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        Worker([str(tmp_path / "python2.3")], {}, tmp_path)
    assert caught.value.errno == errno.ENOENT
