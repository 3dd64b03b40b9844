"""Leases hosts of a Ray cluster: one actor for each lease, which has all CPUs of its node.

Ray starts nothing again by itself: a run that was repeated without being recorded would be a wrong measurement.
"""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records.problems import MachineLost
from pytest_dlbench.running.hosts import membership
from pytest_dlbench.running.hosts.conversation import MODULE, ServerEndedError
from pytest_dlbench.running.hosts.host import MachineLostError, UnfitHostError
from pytest_dlbench.running.hosts.piped import Piped
from pytest_dlbench.running.waits import SOON_SECONDS, Patience, QueuedWait

# How long a call of an actor waits for lines at most.
POLL_SECONDS = 5.0


class Carrier:
    """The actor on a node: carries the lines of a process that it starts, and ends with it."""

    def start(self) -> tuple[str, str, str]:
        """Start the process; the node's id, its address, and what is wrong with it, if anything is."""
        import ray  # noqa: PLC0415 - an extra

        node, address = ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address()
        if problem := _with_usual_priority():
            return node, address, problem
        self._process = Piped([sys.executable, "-m", MODULE])
        return node, address, ""

    def send(self, line: bytes) -> None:
        """Pass a line on."""
        self._process.send(line)

    def poll(self) -> tuple[list[bytes], str]:
        """The lines that have come since the last call, and how the process ended, if it has."""
        return self._process.poll(POLL_SECONDS)


def _with_usual_priority() -> str:
    """Give this process the priority of Ray's daemon, which Ray lowers for workers; why not, if that is impossible."""
    usual, own = psutil.Process(os.getppid()).nice(), psutil.Process().nice()
    if own <= usual:
        return ""
    try:
        psutil.Process().nice(usual)
    except psutil.AccessDenied:
        return f"Ray gives its workers the priority {own}: start it with RAY_worker_niceness=0 in its environment"
    return ""


class RayChannel:
    """The lines of the process that an actor carries."""

    def __init__(self, ray: Any, actor: Any, node: str, address: str) -> None:
        self.node, self.name = node, address
        self._ray, self._actor = ray, actor
        self._lines: deque[bytes] = deque()
        self._polling: Any = None
        self._ended = ""

    def send(self, line: bytes) -> None:
        """Send without waiting: ``receive`` notices a lost host."""
        self._actor.send.remote(line)

    def receive(self, seconds: float) -> bytes | None:
        """The next line, None if there is none within that time."""
        if not self._lines and not self._ended:
            self._poll(seconds)
        if self._lines:
            return self._lines.popleft()
        if self._ended:
            raise ServerEndedError(self._ended)
        return None

    def _poll(self, seconds: float) -> None:
        """Fetch lines. A call that has no result yet goes on until the next time, so that no line is lost."""
        self._polling = self._polling or self._actor.poll.remote()
        try:
            lines, self._ended = self._ray.get(self._polling, timeout=seconds)
        except self._ray.exceptions.GetTimeoutError:
            return
        except self._ray.exceptions.RayError as error:
            lost = MachineLost(host=self.name, cause="engine", engine="ray", said=_first_line(error))
            raise MachineLostError(lost, self.node) from error
        self._polling = None
        self._lines += lines


class RayEngine:
    """The hosts of the Ray cluster of which this machine is a node."""

    @contextmanager
    def lease(self, patience: Patience, lost: frozenset[str]) -> Iterator[RayChannel]:
        """A node of which an actor has all CPUs."""
        ray = self._connected()
        options: dict[str, Any] = {"num_cpus": self._cpus(ray, lost), "max_restarts": 0, "max_task_retries": 0}
        if lost:
            # Ray may not know yet that it is.
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(sorted(lost))})"}
        # For send and poll at the same time.
        actor = ray.remote(Carrier).options(max_concurrency=3, **options).remote()
        try:
            node, address, problem = self._started(ray, actor, patience, lost)
            if problem:
                raise UnfitHostError(f"--dlbench-on ray: {address}: {problem}", address, node)
            yield RayChannel(ray, actor, node, address)
        finally:
            ray.kill(actor)

    def _started(self, ray: Any, actor: Any, patience: Patience, lost: frozenset[str]) -> tuple[str, str, str]:
        """What the actor says once it has its node."""
        started, waiting = actor.start.remote(), QueuedWait("a host of the Ray cluster", patience)
        while not ray.wait([started], timeout=SOON_SECONDS)[0]:
            self._cpus(ray, lost)
            waiting.check()
        try:
            found: tuple[str, str, str] = ray.get(started)
        except ray.exceptions.RayTaskError as error:
            raise DlbenchError(f"--dlbench-on ray: no process can be started: {error}") from error
        except ray.exceptions.RayError as error:
            raise DlbenchError(f"--dlbench-on ray: {_first_line(error)}") from error
        return found

    def _cpus(self, ray: Any, lost: frozenset[str]) -> float:
        """The CPUs of each node that has any; raises MachineLostError if there is none, DlbenchError if they differ."""
        nodes = [node for node in ray.nodes() if node["Alive"] and node["NodeID"] not in lost]
        found = {node["NodeManagerAddress"]: node["Resources"]["CPU"] for node in nodes if "CPU" in node["Resources"]}
        if not found:
            raise MachineLostError(MachineLost(cause="none_left", engine="ray", is_repetition=bool(lost)))
        if len(set(found.values())) > 1:
            listed = ", ".join(f"{address}: {cpus:g}" for address, cpus in sorted(found.items()))
            raise DlbenchError(
                f"--dlbench-on ray: its nodes have different numbers of CPUs ({listed}), so that their"
                " figures cannot be compared; start all nodes with the same --num-cpus, or those not to be used with 0"
            )
        return float(next(iter(found.values())))

    def _connected(self) -> Any:
        """The package, connected to the cluster."""
        membership.check()
        import ray  # noqa: PLC0415 - an extra, and slow to load

        if not ray.is_initialized():
            try:
                with _signals_kept():
                    ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
            except (ConnectionError, RuntimeError, ValueError) as error:
                if "Version mismatch" in str(error):
                    # Ray's message has lines for both sides.
                    said = " ".join(str(error).split())
                    raise DlbenchError(f"--dlbench-on ray: {said}: install the same on all hosts") from error
                raise DlbenchError(
                    f"--dlbench-on ray: no cluster answers: {_first_line(error)}; this machine must be a node of it"
                    " (ray status shows whether it is); RAY_ADDRESS=HOST:6379, the head's, names one of several"
                ) from error
        return ray


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray handles SIGTERM by itself, without which an interrupted session would lose what it measured."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
