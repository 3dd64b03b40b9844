"""Real nodes of Ray, each in a network namespace of its own."""

import re
import signal
import subprocess
import sys

import pytest

from tests.cluster.conftest import HEAD, HOSTS, Network
from tests.cluster.sessions import (
    check_that_a_dead_worker_is_named,
    check_that_a_lost_run_moves,
    check_that_a_session_spreads_workers,
    check_that_all_workers_of_a_lost_host_end,
    check_that_each_host_has_a_worker,
    check_that_each_host_is_examined,
    check_that_hosts_are_not_shared,
    check_that_nothing_is_left,
    check_that_nothing_is_left_on_any_host,
    cut,
)
from tests.running.processes import wait_for


@pytest.fixture(scope="module")
def nodes(network: Network) -> Network:
    """A node of Ray on each host; two of them have a CPU."""
    for host in network.addresses:
        network.start_node(host)
    return network


@pytest.fixture
def cluster(nodes: Network) -> Network:
    """The same, with both hosts free and able to make runs: what an earlier test has broken is whole again."""
    lost = [host for host in HOSTS if host in nodes.cut or not nodes.running(host, "raylet/raylet")]
    for host in lost:
        nodes.kill_all(host)
        nodes.ip(HEAD, "link", "set", host, "up")
        nodes.start_node(host)
        nodes.cut.discard(host)
    if lost:
        # The head takes its time to notice that a node is gone: until then it would lease the one before.
        wait_for(lambda: alive(nodes) == len(nodes.addresses))
    wait_for(lambda: not any(map(nodes.of_runs, HOSTS)))
    return nodes


def alive(network: Network) -> int:
    """How many nodes the head believes to be alive."""
    asked = "import ray; ray.init(log_to_driver=False); print('alive:', sum(node['Alive'] for node in ray.nodes()))"
    with network.start(HEAD, sys.executable, "-c", asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        found, _ = process.communicate(timeout=60)
    # Ray prints lines of its own.
    return int(re.findall(r"alive: (\d+)", found)[0])


def kill_node(network: Network, host: str) -> None:
    for process in network.running(host, "raylet/raylet"):
        process.kill()


def test_a_session_of_two_processes_makes_its_four_cases_on_two_hosts_that_are_never_shared(cluster, tmp_path):
    check_that_hosts_are_not_shared(cluster, tmp_path, "ray", {cluster.addresses[host] for host in HOSTS})


def test_doctor_names_what_would_spoil_measurements_on_each_host(cluster):
    check_that_each_host_is_examined(cluster, "ray", {cluster.addresses[host] for host in HOSTS})


@pytest.mark.parametrize("lose", [kill_node, cut])
def test_a_run_whose_host_is_lost_is_recorded_and_made_once_more_on_the_other(cluster, driver, lose):
    (cluster.folder / "go").unlink(missing_ok=True)
    started = driver("ray", "waits_for_go")
    check_that_a_lost_run_moves(cluster, started, lambda host: lose(cluster, host), cluster.addresses.__getitem__)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_ends_leaves_no_process_on_its_host(cluster, driver, end):
    check_that_nothing_is_left(cluster, driver("ray", "sleeps", steps=600), end)


def test_two_workers_on_two_hosts_have_the_losses_of_one(cluster, driver):
    check_that_each_host_has_a_worker(cluster, driver, "ray", {cluster.addresses[host] for host in HOSTS})


def test_a_session_spreads_the_workers_of_a_case(cluster, tmp_path):
    check_that_a_session_spreads_workers(cluster, tmp_path, "ray")


def test_a_dead_worker_ends_the_run_on_all_hosts_and_is_named(cluster, driver):
    check_that_a_dead_worker_is_named(cluster, driver, "ray")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_ends_leaves_no_worker_on_any_host(cluster, driver, end):
    check_that_nothing_is_left_on_any_host(cluster, driver, "ray", end)


@pytest.mark.parametrize(("host", "lose"), [("one", kill_node), ("two", cut)])
def test_a_lost_host_ends_the_workers_on_all_hosts(cluster, driver, host, lose):
    check_that_all_workers_of_a_lost_host_end(
        cluster, driver, "ray", lambda: lose(cluster, host), cluster.addresses[host]
    )
