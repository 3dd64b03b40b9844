"""What is true of runs on hosts of any cluster."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import psutil

from pytest_dlbench.records import Run, RunOutcome, codec
from tests.cluster.conftest import HEAD, HOSTS, Network
from tests.plugin.conftest import BUILDERS, CONFTEST, TEST
from tests.running.processes import is_running, wait_for

# What the documentation promises.
LOST_SECONDS = 15.0
SESSION_SECONDS = 180


def where_it_runs(network: Network) -> str:
    """The host that has a worker."""
    return wait_for(lambda: [host for host in HOSTS if network.running(host, "dlworker")])[0]


def cut(network: Network, host: str) -> None:
    """Cut the link of a host."""
    network.ip(HEAD, "link", "set", host, "down")


def printed_runs(driver: "subprocess.Popen[str]") -> Iterator[Run]:
    """As they are kept. Ray prints lines of its own."""
    for line in driver.stdout:
        if line.startswith("{"):
            yield codec.decode(line.encode(), Run, "driver")


def interval(run: Run) -> tuple[datetime, datetime]:
    """From when to when it was."""
    began = datetime.fromisoformat(run.began)
    return began, began + timedelta(seconds=run.wall_seconds)


def check_that_hosts_are_not_shared(network: Network, folder: Path, on: str, names: set[str]) -> None:
    """A session of two processes makes its four cases on two hosts."""
    frameworks = {"one": "numpy_softmax", "other": "clocked"}
    suite = CONFTEST.format(
        rate=0.1,
        folder=str(BUILDERS),
        frameworks=frameworks,
        names=list(frameworks),
        models=["softmax", "two-layers"],
    )
    (folder / "conftest.py").write_text(suite)
    (folder / "test_suite.py").write_text(TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    options = (f"--dlbench-on={on}", "--dlbench-runs=1", "--dlbench-scale=smoke", "--dlbench-threads=1", "-n2")
    log = folder / "log.txt"
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "--dlbench-allow=invalid")
    with log.open("w") as printed, network.start(HEAD, *command, cwd=folder, stdout=printed) as session:
        status = session.wait(SESSION_SECONDS)
    assert status == 0, log.read_text()
    runs = [run for journal in folder.rglob("*.jsonl") for run in _runs_of(journal)]
    assert sorted(run.case for run in runs) == [
        f"training-{framework}-{model}-digits-cpu-smoke-threads1"
        for framework in sorted(frameworks)
        for model in ("softmax", "two-layers")
    ]
    assert {run.outcome for run in runs} == {RunOutcome.FINISHED}
    assert {run.host for run in runs} == names
    for name in names:
        check_that_none_overlap([run for run in runs if run.host == name])


def check_that_none_overlap(runs: list[Run]) -> None:
    """One after the other."""
    intervals = sorted(map(interval, runs))
    assert all(one[1] <= following[0] for one, following in pairwise(intervals))


def check_that_a_lost_run_moves(
    network: Network, started: "subprocess.Popen[str]", lose: Callable[[str], None], name_of: Callable[[str], str]
) -> None:
    """A run of waits_for_go whose host is lost is recorded, ended there, and made once more on the other one."""
    host = where_it_runs(network)
    (other,) = set(HOSTS) - {host}
    worker = network.running(host, "dlworker")
    lose(host)
    began = time.monotonic()
    kept = printed_runs(started)
    lost = next(kept)
    assert time.monotonic() < began + LOST_SECONDS
    assert (lost.outcome, lost.host) == (RunOutcome.MACHINE_LOST, name_of(host))
    wait_for(lambda: not any(map(is_running, worker)))
    assert time.monotonic() < began + LOST_SECONDS
    (network.folder / "go").touch()
    (again,) = kept
    assert (again.outcome, again.index, again.host) == (RunOutcome.FINISHED, lost.index, name_of(other))


def check_that_nothing_is_left(network: Network, started: "subprocess.Popen[str]", end: int) -> None:
    """A driver that is ended by a signal leaves no process on its host."""
    host = where_it_runs(network)
    (python,) = network.running(HEAD, "tests.cluster.driver")
    python.send_signal(end)
    started.wait(LOST_SECONDS)
    _, left = psutil.wait_procs(network.of_runs(host), timeout=LOST_SECONDS)
    assert not left


def _runs_of(journal: Path) -> list[Run]:
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    return [codec.convert(entry["run"], Run, str(journal)) for entry in entries if entry.get("run")]
