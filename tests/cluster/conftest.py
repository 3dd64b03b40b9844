"""Clusters for tests: network namespaces as hosts, with nodes of Ray or SLURM, and one without any for the driver.

Each host has its own cache and its own locks. They share the processors, the processes and the files of this machine.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.cluster.delaying import MTU
from tests.running.processes import is_running

ROOT = Path(__file__).parents[2]
HEAD, HOSTS = "head", ("one", "two")
PORT = 6379
BRIDGE = "hosts"
NODE = ("--object-store-memory=80000000", "--disable-usage-stats")
# The variable by which processes of a host are found, also those that have left their node.
VARIABLE = "DLBENCH_TEST_HOST"
STARTED_SECONDS = 120
NAMESPACES = Path("/run/netns")
DELAYING = "tests.cluster.delaying"
USUAL_MTU = "1500"


class Network:
    """The hosts by name, with their addresses, and a folder for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The hosts whose links were cut since they were whole.
        self.cut: set[str] = set()
        self.addresses = {name: f"10.79.{os.getpid() % 250}.{place}" for place, name in enumerate((HEAD, *HOSTS), 1)}

    def namespace(self, host: str) -> str:
        """Its network namespace."""
        return f"dlbench-{os.getpid()}-{host}"

    def make(self) -> None:
        """All hosts on one bridge."""
        for host in self.addresses:
            _run("ip", "netns", "add", self.namespace(host))
            self.ip(host, "link", "set", "lo", "up")
        self.ip(HEAD, "link", "add", BRIDGE, "type", "bridge")
        self.ip(HEAD, "addr", "add", f"{self.addresses[HEAD]}/24", "dev", BRIDGE)
        self.ip(HEAD, "link", "set", BRIDGE, "up")
        for host in HOSTS:
            peer = ("peer", "name", "net", "netns", self.namespace(host))
            self.ip(HEAD, "link", "add", host, "type", "veth", *peer)
            self.ip(host, "addr", "add", f"{self.addresses[host]}/24", "dev", "net")
            self.ip(host, "link", "set", "net", "up")
            self.ip(HEAD, "link", "set", host, "master", BRIDGE, "up")

    def remove(self) -> None:
        """The namespaces that exist, and what runs in them."""
        for host in self.addresses:
            if (NAMESPACES / self.namespace(host)).exists():
                self.kill_all(host)
                _run("ip", "netns", "del", self.namespace(host))

    def ip(self, host: str, *words: str) -> None:
        """``ip`` in the namespace of a host."""
        _run("ip", "-n", self.namespace(host), *words)

    def limit(self, host: str, *words: str) -> None:
        """Limit what a host sends by a queueing discipline, in the words of ``tc``; without any, no more."""
        own = ("ip", "netns", "exec", self.namespace(host), "tc", "qdisc")
        if words:
            _run(*own, "replace", "dev", "net", "root", *words)
        else:
            # There may be none.
            subprocess.run([*own, "del", "dev", "net", "root"], check=False, stderr=subprocess.DEVNULL)

    @contextmanager
    def delayed(self, seconds: float) -> Iterator[None]:
        """What a host sends reaches the others after that time in this block."""
        relays = []
        try:
            self.ip(HEAD, "link", "set", BRIDGE, "mtu", str(MTU))
            for host in HOSTS:
                assert self.start(host, sys.executable, "-m", DELAYING, "net", cwd=ROOT).wait() == 0
                self.ip(host, "link", "set", "net", "mtu", str(MTU))
                self.ip(HEAD, "link", "set", host, "mtu", str(MTU), "nomaster")
                words = (sys.executable, "-m", DELAYING, host, BRIDGE, f"{seconds:g}")
                relays.append(self.start(HEAD, *words, stdout=subprocess.PIPE, cwd=ROOT))
            assert [relay.stdout.readline() for relay in relays if relay.stdout] == ["ready\n"] * len(HOSTS)
            yield
        finally:
            for relay in relays:
                relay.kill()
                relay.communicate()
            for host in HOSTS:
                self.ip(host, "link", "set", "net", "mtu", USUAL_MTU)
                self.ip(HEAD, "link", "set", host, "mtu", USUAL_MTU, "master", BRIDGE)

    def environment(self, host: str) -> Mapping[str, str]:
        """The variables of all processes of a host."""
        own = self.folder / host
        own.mkdir(exist_ok=True)
        return {
            **os.environ,
            VARIABLE: f"{os.getpid()}-{host}",
            "XDG_CACHE_HOME": str(own / "cache"),
            "DLBENCH_LOCKS": str(own / "locks"),
            "TMPDIR": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "RAY_ADDRESS": f"{self.addresses[HEAD]}:{PORT}",
            "RAY_worker_niceness": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "SLURM_CONF": str(self.slurm_configuration),
        }

    @property
    def slurm_configuration(self) -> Path:
        """The configuration of SLURM's programs."""
        return self.folder / "slurm" / "slurm.conf"

    def start(self, host: str, *command: str, **options: object) -> "subprocess.Popen[str]":
        """Start a command on a host."""
        # Not "ip netns exec", which hides the control groups: slurmd needs them.
        words = ("nsenter", f"--net={NAMESPACES / self.namespace(host)}", *command)
        environment = self.environment(host)
        return subprocess.Popen(words, env=environment, text=True, **options)  # type: ignore[call-overload, no-any-return]

    def start_node(self, host: str) -> None:
        """Start Ray on a host; it has joined the cluster when this returns."""
        usual = (f"--node-ip-address={self.addresses[host]}", *NODE)
        at_head = ("--head", f"--port={PORT}", "--num-cpus=0", "--include-dashboard=false")
        own = at_head if host == HEAD else (f"--address={self.addresses[HEAD]}:{PORT}", "--num-cpus=1")
        ray, log = str(Path(sys.executable).with_name("ray")), self.folder / f"{host}.txt"
        with (
            log.open("w") as printed,
            self.start(host, ray, "start", *usual, *own, stdout=printed, stderr=subprocess.STDOUT) as started,
        ):
            assert started.wait(STARTED_SECONDS) == 0, log.read_text()

    def processes(self, host: str) -> list[psutil.Process]:
        """All that runs on a host."""
        found = subprocess.run(
            ["ip", "netns", "pids", self.namespace(host)], check=True, capture_output=True, text=True
        ).stdout
        running = []
        for pid in map(int, found.split()):
            with suppress(psutil.NoSuchProcess):
                running.append(psutil.Process(pid))
        return [process for process in running if is_running(process)]

    def running(self, host: str, *words: str) -> list[psutil.Process]:
        """The processes of a host with one of these words in their command line."""
        found = []
        for process in self.processes(host):
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if any(word in " ".join(process.cmdline()) for word in words):
                    found.append(process)
        return found

    def kill_all(self, host: str) -> None:
        """End everything on a host, as a power cut does."""
        while found := self.processes(host):
            for process in found:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
            psutil.wait_procs(found, timeout=1)

    def of_runs(self, host: str) -> list[psutil.Process]:
        """The processes that make runs on a host."""
        return self.running(host, "dlworker", "pytest_dlbench.running.hosts.serving")


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


@contextmanager
def made_network() -> Iterator[Network]:
    """Three hosts, which are gone after this block, also if the process is ended by SIGTERM."""
    # A cancelled run of CI must not leave them: neither pytest nor a script would end on it what they began.
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Ray's sockets are there, whose paths must be short.
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        made = Network(Path(folder))
        try:
            made.make()
            yield made
        finally:
            made.remove()
            signal.signal(signal.SIGTERM, usual)


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    """Three hosts."""
    with made_network() as made:
        yield made


def start_driver(
    network: Network, folder: Path, on: str, builder: str, *, steps: int = 8, stderr: int | None = None, **case: object
) -> "subprocess.Popen[str]":
    """Start tests/cluster/driver.py on the head; its data are in the folder."""
    settings = json.dumps({"steps": steps, **case})
    words = (sys.executable, "-m", "tests.cluster.driver", on, builder, settings, str(folder / "data"))
    return network.start(HEAD, *words, stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT)


@pytest.fixture
def driver(network: Network, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start tests/cluster/driver.py on the head."""
    started: list[subprocess.Popen[str]] = []

    def start(on: str, builder: str, *, stderr: int | None = None, **case: object):
        started.append(start_driver(network, tmp_path, on, builder, stderr=stderr, **case))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
