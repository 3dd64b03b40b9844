"""Real nodes of SLURM, each in a network namespace of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pytest_dlbench.records import RunOutcome
from tests.cluster.conftest import HEAD, HOSTS, Network
from tests.cluster.links import LINKS, TIMEOUT_SECONDS, UNITS, Link, gradient_bytes, limited, step_seconds
from tests.cluster.sessions import (
    LOST_SECONDS,
    check_that_a_lost_run_moves,
    check_that_all_workers_of_a_lost_host_end,
    check_that_each_host_has_a_worker,
    check_that_each_host_is_examined,
    check_that_hosts_are_not_shared,
    check_that_none_overlap,
    check_that_nothing_is_left,
    check_that_nothing_is_left_on_any_host,
    cut,
    printed_runs,
    where_it_runs,
)
from tests.cluster.slurm import WITH_GPU, Slurm
from tests.running.processes import wait_for
from tests.worker.places import place_of

# Answers every byte, and the shortest time that an answer takes.
ECHO = """
import socket
connection, _ = socket.create_server(("0.0.0.0", 5003)).accept()
while sent := connection.recv(1):
    connection.sendall(sent)
"""
TRIP = """
import socket, sys, time
until = time.monotonic() + 10
while True:
    try:
        connection = socket.create_connection((sys.argv[1], 5003))
        break
    except OSError:
        assert time.monotonic() < until
        time.sleep(0.05)
trips = []
for _ in range(5):
    began = time.monotonic()
    connection.sendall(b"x")
    connection.recv(1)
    trips.append(time.monotonic() - began)
print(min(trips))
"""


@pytest.fixture(scope="module")
def nodes(network: Network) -> Iterator[Slurm]:
    """SLURM on all hosts."""
    made = Slurm(network)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def slurm(nodes: Slurm) -> Slurm:
    """The same, with both hosts free."""
    nodes.repair()
    (nodes.network.folder / "go").unlink(missing_ok=True)
    return nodes


def kill_step(slurm: Slurm, host: str) -> None:
    for process in slurm.daemons_of_steps(host):
        process.kill()


def cut_link(slurm: Slurm, host: str) -> None:
    cut(slurm.network, host)


def test_a_session_of_two_processes_makes_its_four_cases_on_two_hosts_that_are_never_shared(slurm, tmp_path):
    check_that_hosts_are_not_shared(slurm.network, tmp_path, "srun:--partition=tests --time=5", set(HOSTS))


def test_doctor_names_what_would_spoil_measurements_on_each_host(slurm):
    check_that_each_host_is_examined(slurm.network, "srun:--partition=tests --time=5", set(HOSTS))


@pytest.mark.parametrize("lose", [kill_step, cut_link])
def test_a_run_whose_host_is_lost_is_recorded_and_made_once_more_on_the_other(slurm, driver, lose):
    started = driver("srun", "waits_for_go")
    check_that_a_lost_run_moves(slurm.network, started, lambda host: lose(slurm, host), str)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_driver_that_ends_leaves_no_process_on_its_host_and_no_lease(slurm, driver, end):
    check_that_nothing_is_left(slurm.network, driver("srun", "leaves_a_child_and_hangs", steps=600), end)
    wait_for(lambda: not slurm.jobs())
    # What started them ends after them.
    wait_for(lambda: not slurm.network.running(HEAD, "srun", "salloc"))


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_lease_waits_for_the_one_before_and_its_driver_may_end_meanwhile(slurm, driver, end):
    first = driver("srun:--nodelist=two", "waits_for_go")
    assert where_it_runs(slurm.network) == "two"
    (holder,) = slurm.network.running(HEAD, "tests.cluster.driver")
    second, third = (driver("srun:--nodelist=two", "waits_for_go") for _ in range(2))
    wait_for(lambda: sorted(slurm.jobs()) == ["PD", "PD", "R"])
    drivers = [one for one in slurm.network.running(HEAD, "tests.cluster.driver") if one.pid == third.pid]
    assert holder.pid == first.pid
    drivers[0].send_signal(end)
    wait_for(lambda: sorted(slurm.jobs()) == ["PD", "R"])
    assert len(slurm.network.running("two", "dlworker")) == 1
    (slurm.network.folder / "go").touch()
    runs = [*printed_runs(first), *printed_runs(second)]
    assert [(run.outcome, run.host) for run in runs] == [(RunOutcome.FINISHED, "two")] * 2
    check_that_none_overlap(runs)


def test_a_case_on_a_gpu_has_the_one_that_slurm_gives_it(slurm, driver):
    (run,) = printed_runs(driver("srun", "computes_on_a_gpu", device="gpu"))
    assert (run.outcome, run.host, run.versions["cuda_visible_devices"]) == (RunOutcome.FINISHED, WITH_GPU, "0")


def test_cases_on_the_only_gpu_lease_its_host_one_after_the_other(slurm, driver):
    first, second = (driver("srun", "computes_on_a_gpu", device="gpu") for _ in range(2))
    runs = [*printed_runs(first), *printed_runs(second)]
    assert [(run.outcome, run.host) for run in runs] == [(RunOutcome.FINISHED, WITH_GPU)] * 2
    check_that_none_overlap(runs)


def test_a_lease_has_all_processors_of_its_node(slurm, driver):
    (run,) = printed_runs(driver("srun", "numpy_softmax", threads=os.cpu_count()))
    assert (run.outcome, len(run.cores)) == (RunOutcome.FINISHED, os.cpu_count())


def test_what_slurm_refuses_is_said_in_its_words(slurm, driver):
    refused = driver("srun:--partition=other", "numpy_softmax", stderr=subprocess.PIPE)
    assert refused.wait(LOST_SECONDS) == 1
    said = refused.stderr.read()
    assert "--dlbench-on srun: SLURM gives no node" in said
    assert "invalid partition specified: other" in said


def test_two_workers_on_two_hosts_have_the_losses_of_one(slurm, driver):
    check_that_each_host_has_a_worker(slurm.network, driver, "srun", set(HOSTS))


@pytest.mark.parametrize(("host", "lose"), [("one", kill_step), ("two", cut_link)])
def test_a_lost_host_ends_the_workers_on_all_hosts(slurm, driver, host, lose):
    check_that_all_workers_of_a_lost_host_end(slurm.network, driver, "srun", lambda: lose(slurm, host), host)


def test_a_driver_that_ends_leaves_no_worker_on_any_host_and_no_lease(slurm, driver):
    check_that_nothing_is_left_on_any_host(slurm.network, driver, "srun", signal.SIGKILL)
    wait_for(lambda: not slurm.jobs())


def test_a_link_of_100_mbits_lowers_the_efficiency_of_two_workers_as_its_bandwidth_predicts(slurm, driver):
    python = str(place_of("pytorch", "workers").python)

    def step(link: Link) -> float:
        case = {"python": python, "workers": 2, "hosts": 2, "units": UNITS, "timeout": TIMEOUT_SECONDS}
        with limited(slurm.network, link):
            (run,) = printed_runs(driver("srun", "pytorch", steps=12, **case))
        return step_seconds(run)

    free, slow = step(LINKS["no limit"]), step(LINKS["100 Mbit/s"])
    # One worker's step cancels out of the ratio of two efficiencies.
    predicted = free / (free + LINKS["100 Mbit/s"].exchange_seconds(gradient_bytes(UNITS)))
    assert 0.6 * predicted < free / slow < 1.6 * predicted


def test_a_delayed_link_answers_after_twice_its_delay(network):
    def trip_seconds() -> float:
        with (
            network.start("two", sys.executable, "-u", "-c", ECHO, stdout=subprocess.PIPE) as answering,
            network.start(
                "one", sys.executable, "-c", TRIP, network.addresses["two"], stdout=subprocess.PIPE
            ) as asking,
        ):
            seconds = float(asking.communicate(timeout=LOST_SECONDS)[0])
            answering.kill()
        return seconds

    direct = trip_seconds()
    with network.delayed(0.05):
        assert 0.1 <= trip_seconds() < 0.2 + direct
    assert trip_seconds() < 0.1
