"""Workers that write without end, to their output or into the protocol: the run has an outcome, the driver is small."""

import random
import resource
import sys
import time

import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running import connection
from pytest_dlbench.running.connection import Worker, WorkerError
from pytest_dlbench.running.training import train_once
from tests.running.specs import BUILDERS, spec

WORKERS = BUILDERS.parent / "workers"
FLOODS = ("chatters", "never_stops", "nests_deeply", "closes_its_pipe", "never_reads", "never_answers")
REPLIES = 40
LIMIT_SECONDS = 5.0
# What an answer may have at most, and as much again while it is put together.
MOST_DRIVER_BYTES = 4 * connection.MAX_REPLY_BYTES


@pytest.fixture(autouse=True)
def short_exit_timeout(monkeypatch):
    monkeypatch.setattr(connection, "EXIT_SECONDS", 0.05)


def asked(folder, name, *arguments):
    """Ask a double once; an answer or a WorkerError, and nothing else, is the right end."""
    command = [sys.executable, "-S", "-s", str(WORKERS / f"{name}.py"), *arguments]
    with Worker(command, {"PYTHONDONTWRITEBYTECODE": "1"}, folder) as worker:
        try:
            return worker.request(
                "train", deadline=time.monotonic() + LIMIT_SECONDS, waiting=lambda: None, period_seconds=0.05
            )
        except WorkerError as error:
            return error


@pytest.mark.parametrize("name", FLOODS)
def test_protocol(attempt, tmp_path, name):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with attempt(name):
        assert isinstance(asked(tmp_path, name), WorkerError) != (name == "chatters")
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MOST_DRIVER_BYTES


def test_random_answers(attempt, tmp_path):
    drawn = random.Random(1)
    for number in range(REPLIES):
        rubbish = drawn.randbytes(drawn.randrange(1, 2000)) + b"\n"
        with attempt(f"answer {number}"):
            assert isinstance(asked(tmp_path, "talks_rubbish", rubbish.hex()), WorkerError)


def test_output(attempt, tmp_path):
    with attempt("64 MB of output"):
        run = train_once(spec("floods", tmp_path), 0)
        assert run.outcome is RunOutcome.FINISHED
        assert run.log == ()
