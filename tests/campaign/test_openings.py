"""What a session opens to others: no port, no variable, no file that others can write to."""

import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.campaign.sessions import Suite
from tests.running.processes import wait_for


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """The driver, its guard and its worker, during a training; the driver knows a secret."""
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    suite = Suite(tmp_path / "suite", tmp_path / "cache", builder="hangs_after_one_run")
    with suite.begin() as driver:
        wait_for((suite.temporary / "hangs").exists)
        yield [psutil.Process(driver.pid), *psutil.Process(driver.pid).children(recursive=True)]
        driver.send_signal(signal.SIGTERM)
        driver.communicate()


def test_ports(attempt, processes):
    assert len(processes) == 3
    for process in processes:
        with attempt(" ".join(process.cmdline())):
            assert [found for found in process.net_connections() if found.status == psutil.CONN_LISTEN] == []


def test_variables(attempt, processes):
    (worker,) = [process for process in processes if "dlworker" in process.cmdline()]
    with attempt("a secret in the driver's environment"):
        assert "hunter2" not in str(worker.environ())


def test_files(attempt, processes):
    for process in processes:
        with attempt(" ".join(process.cmdline())):
            for path in {opened.path for opened in process.open_files()}:
                # The log of the worker, and the locks, which nobody can write to.
                with suppress(FileNotFoundError):
                    assert not (Path(path).stat().st_mode & 0o022), path
