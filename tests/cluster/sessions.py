"""What is true of runs on hosts of any cluster."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from pytest_dlbench.records import Run, RunOutcome, codec
from pytest_dlbench.reporting import problems
from tests.cluster.conftest import HEAD, HOSTS, Network
from tests.plugin.conftest import BUILDERS, CONFTEST, TEST
from tests.running.processes import is_running, wait_for
from tests.worker.places import place_of

# What the documentation promises.
LOST_SECONDS = 15.0
# Until workers on two hosts are connected: nodes, hosts and PyTorch start on a machine that does other work as well.
START_SECONDS = 120.0
SESSION_SECONDS = 180


def where_it_runs(network: Network) -> str:
    """The host that has a worker."""
    return wait_for(lambda: [host for host in HOSTS if network.running(host, "dlworker")])[0]


def cut(network: Network, host: str) -> None:
    """Cut the link of a host."""
    network.cut.add(host)
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
    printed = log.read_text()
    for name in names:
        assert f" on {name}\n" in printed
        # pytest's letters for cases that have ended may be in front of it.
        assert re.search(rf"(?m)^\.*case \d of 4, run 1 of 1: .* on {re.escape(name)}$", printed), printed
        check_that_none_overlap([run for run in runs if run.host == name])


def check_that_each_host_is_examined(network: Network, on: str, names: set[str]) -> None:
    """``dlbench doctor --on`` has the findings of each host, and leaves nothing there."""
    dlbench = str(Path(sys.executable).with_name("dlbench"))
    with network.start(HEAD, dlbench, "doctor", f"--on={on}", "--json", stdout=subprocess.PIPE) as started:
        printed, _ = started.communicate(timeout=SESSION_SECONDS)
    # Ray prints lines of its own.
    found = json.loads(printed[printed.index("[\n") :])
    assert {finding["host"] for finding in found} == names
    for name in names:
        own = {finding["topic"]: finding for finding in found if finding["host"] == name}
        assert {"load", "cores", "SMT"} <= own.keys()
        assert own["machine class"]["advice"] == ""
    wait_for(lambda: not any(map(network.of_runs, HOSTS)))


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
    before = network.of_runs(host)
    (python,) = network.running(HEAD, "tests.cluster.driver")
    python.send_signal(end)
    started.wait(LOST_SECONDS)
    assert not _left_after(LOST_SECONDS, [*before, *network.of_runs(host)])


def check_that_each_host_has_a_worker(
    network: Network, driver: Callable[..., "subprocess.Popen[str]"], on: str, names: set[str]
) -> None:
    """Two workers, one on each host, have the losses of one, also where images are cropped and flipped."""
    python = str(place_of("pytorch", "workers").python)
    augmented = {"input": "pipeline", "crop_padding": 1, "flips": True}
    (one,) = printed_runs(driver(on, "pytorch", python=python, recipe=augmented))
    started = driver(on, "pytorch", python=python, workers=2, hosts=2, recipe=augmented)
    wait_for(lambda: all(network.running(host, "dlworker") for host in HOSTS))
    (two,) = printed_runs(started)
    assert one.outcome is two.outcome is RunOutcome.FINISHED, problems.of_run(one) + problems.of_run(two)
    assert two.training.losses == pytest.approx(one.training.losses, rel=1e-5)
    assert two.evaluation.loss == pytest.approx(one.evaluation.loss, rel=1e-5)
    assert (two.training.examples, two.training.batch_size) == (one.training.examples, one.training.batch_size)
    assert set(two.host.split(", ")) == names
    assert [share.rss_peak_bytes > 0 for share in two.workers] == [True, True]
    assert two.survivors == ()


def check_that_a_session_spreads_workers(network: Network, folder: Path, on: str) -> None:
    """A session trains a case with one worker, then with one on each of two hosts, and shows the speed-up."""
    python = str(place_of("pytorch", "workers").python)
    suite = CONFTEST.format(
        rate=0.1,
        folder=str(BUILDERS),
        frameworks={"torch": "dlworker.frameworks.pytorch"},
        names=["torch"],
        models=["two-layers"],
    )
    (folder / "conftest.py").write_text(suite.replace("builder=builder,", f"builder=builder, python=Path({python!r}),"))
    (folder / "test_suite.py").write_text(TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    usual = (f"--dlbench-on={on}", "--dlbench-runs=1", "--dlbench-scale=smoke", "--dlbench-threads=1")
    options = (*usual, "--dlbench-workers=1,2", "--dlbench-set=placement=spread", "--dlbench-allow=invalid")
    log = folder / "log.txt"
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options)
    with log.open("w") as printed, network.start(HEAD, *command, cwd=folder, stdout=printed) as session:
        status = session.wait(SESSION_SECONDS)
    assert status == 0, log.read_text()
    runs = [run for journal in folder.rglob("*.jsonl") for run in _runs_of(journal)]
    assert [run.outcome for run in runs] == [RunOutcome.FINISHED] * 2, log.read_text()
    assert sorted(len(run.host.split(", ")) for run in runs) == [1, 2]
    assert "workers: two-layers on digits, cpu, 1 thread each, scale smoke, placement spread" in log.read_text()


def check_that_all_workers_of_a_lost_host_end(
    network: Network,
    driver: Callable[..., "subprocess.Popen[str]"],
    on: str,
    lose: Callable[[], None],
    name: str,
) -> None:
    """A run on two hosts of which one is lost is recorded with its name, and ended on both."""
    workers = _workers_on_both_hosts(network, driver, on)
    lose()
    began = time.monotonic()
    lost = next(kept := printed_runs(workers.driver))
    assert time.monotonic() < began + LOST_SECONDS
    assert (lost.outcome, lost.host) == (RunOutcome.MACHINE_LOST, name), problems.of_run(lost)
    wait_for(lambda: not any(map(is_running, workers.processes)))
    assert time.monotonic() < began + LOST_SECONDS
    # There is no other host for a repetition.
    (again,) = kept
    assert (again.outcome, again.host) == (RunOutcome.MACHINE_LOST, "")


def check_that_a_dead_worker_is_named(
    network: Network, driver: Callable[..., "subprocess.Popen[str]"], on: str
) -> None:
    """A worker that is killed ends the run on both hosts, which says which it was."""
    workers = _workers_on_both_hosts(network, driver, on)
    workers.processes[1].kill()
    (run,) = printed_runs(workers.driver)
    assert run.outcome is RunOutcome.CRASHED
    died = run.problem.problem
    assert (run.problem.workers, died.cause, died.number) == (2, "signal", signal.SIGKILL), problems.of_run(run)
    assert not _left_after(LOST_SECONDS, workers.processes)


def check_that_nothing_is_left_on_any_host(
    network: Network, driver: Callable[..., "subprocess.Popen[str]"], on: str, end: int
) -> None:
    """A driver that is ended by a signal leaves no process on either host."""
    workers = _workers_on_both_hosts(network, driver, on)
    (python,) = network.running(HEAD, "tests.cluster.driver")
    python.send_signal(end)
    workers.driver.wait(LOST_SECONDS)
    # The workers too: a process that is about to end has no command line any more, by which of_runs finds it.
    of_runs = [one for host in HOSTS for one in network.of_runs(host)]
    assert not _left_after(LOST_SECONDS, [*workers.processes, *of_runs])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Training:
    """A driver whose run is training, and its worker on each host."""

    driver: "subprocess.Popen[str]"
    processes: list[psutil.Process]


def _left_after(seconds: float, processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended within ``seconds``."""
    psutil.wait_procs(processes, timeout=seconds)
    return [process for process in processes if is_running(process)]


def _workers_on_both_hosts(network: Network, driver: Callable[..., "subprocess.Popen[str]"], on: str) -> _Training:
    python = str(place_of("pytorch", "workers").python)
    started = driver(on, "pytorch", steps=100_000, python=python, workers=2, hosts=2)
    # Once they train, they are connected over the link between the hosts.
    wait_for(lambda: all(_connected(network, host) for host in HOSTS), START_SECONDS)
    return _Training(driver=started, processes=[network.running(host, "dlworker")[0] for host in HOSTS])


def _connected(network: Network, host: str) -> bool:
    """Whether a worker of a host has a connection to the other host."""
    others = {network.addresses[name] for name in HOSTS if name != host}
    return any(others & _peers(worker.pid) for worker in network.running(host, "dlworker"))


def _peers(pid: int) -> set[str]:
    """The addresses at the other ends of a process's connections. psutil reads those of its own network namespace."""
    process = Path(f"/proc/{pid}")
    try:
        sockets = {link.readlink().name for link in (process / "fd").iterdir()}
        rows = [line.split() for line in (process / "net/tcp").read_text("utf-8").splitlines()[1:]]
    except OSError:
        # It ends, or closes files, at this moment.
        return set()
    remote = [row[2].partition(":")[0] for row in rows if f"socket:[{row[9]}]" in sockets]
    return {socket.inet_ntoa(int(address, 16).to_bytes(4, sys.byteorder)) for address in remote}


def _runs_of(journal: Path) -> list[Run]:
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    return [codec.convert(entry["run"], Run, str(journal)) for entry in entries if entry.get("run")]
