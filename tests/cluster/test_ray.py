"""Real nodes of Ray, each in a network namespace of its own."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

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
    network.ip(HEAD, "link", "set", host, "down")


def kill_node(network: Network, host: str) -> None:
    for process in network.running(host, "raylet/raylet"):
        process.kill()


def runs_of(journal: Path) -> list[Run]:
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    return [codec.convert(entry["run"], Run, str(journal)) for entry in entries if entry.get("run")]


def printed_runs(driver: "subprocess.Popen[str]") -> Iterator[Run]:
    """As they are kept. Ray prints lines of its own."""
    for line in driver.stdout:
        if line.startswith("{"):
            yield codec.decode(line.encode(), Run, "driver")


def interval(run: Run) -> tuple[datetime, datetime]:
    began = datetime.fromisoformat(run.began)
    return began, began + timedelta(seconds=run.wall_seconds)


def test_a_session_of_two_processes_makes_its_four_cases_on_two_hosts_that_are_never_shared(cluster, tmp_path):
    names = {"one": "numpy_softmax", "other": "clocked"}
    suite = CONFTEST.format(
        rate=0.1, folder=str(BUILDERS), frameworks=names, names=list(names), models=["softmax", "two-layers"]
    )
    (tmp_path / "conftest.py").write_text(suite)
    (tmp_path / "test_suite.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    options = ("--dlbench-on=ray", "--dlbench-runs=1", "--dlbench-scale=smoke", "--dlbench-threads=1", "-n2")
    log = tmp_path / "log.txt"
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "--dlbench-allow=invalid")
    with log.open("w") as printed, cluster.start(HEAD, *command, cwd=tmp_path, stdout=printed) as session:
        status = session.wait(SESSION_SECONDS)
    assert status == 0, log.read_text()
    runs = [run for journal in tmp_path.rglob("*.jsonl") for run in runs_of(journal)]
    assert sorted(run.case for run in runs) == [
        f"training-{framework}-{model}-digits-cpu-smoke-threads1"
        for framework in sorted(names)
        for model in ("softmax", "two-layers")
    ]
    assert {run.outcome for run in runs} == {RunOutcome.FINISHED}
    assert {run.host for run in runs} == {cluster.addresses[host] for host in HOSTS}
    for host in HOSTS:
        own = sorted(interval(run) for run in runs if run.host == cluster.addresses[host])
        assert all(one[1] <= following[0] for one, following in pairwise(own))


@pytest.mark.parametrize("lose", [kill_node, cut])
def test_a_run_whose_host_is_lost_is_recorded_and_made_once_more_on_the_other(cluster, driver, lose):
    (cluster.folder / "go").unlink(missing_ok=True)
    started = driver("waits_for_go")
    host = where_it_runs(cluster)
    (other,) = set(HOSTS) - {host}
    worker = cluster.running(host, "dlworker")
    lose(cluster, host)
    began = time.monotonic()
    kept = printed_runs(started)
    lost = next(kept)
    assert time.monotonic() < began + LOST_SECONDS
    assert (lost.outcome, lost.host) == (RunOutcome.MACHINE_LOST, cluster.addresses[host])
    wait_for(lambda: not any(map(is_running, worker)))
    assert time.monotonic() < began + LOST_SECONDS
    (cluster.folder / "go").touch()
    (again,) = kept
    assert (again.outcome, again.index, again.host) == (RunOutcome.FINISHED, lost.index, cluster.addresses[other])


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_ends_leaves_no_process_on_its_host(cluster, driver, end):
    started = driver("sleeps", steps=600)
    host = where_it_runs(cluster)
    (python,) = cluster.running(HEAD, "tests.cluster.driver")
    python.send_signal(end)
    started.wait(LOST_SECONDS)
    _, left = psutil.wait_procs(cluster.of_runs(host), timeout=LOST_SECONDS)
    assert not left
