"""Leased hosts: what driver and host say to each other, over the pipes of a process on this machine."""

import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random

import pytest

from pytest_dlbench.environments import DEVICES, Framework
from pytest_dlbench.environments.placing import Absent, Elsewhere, Lack
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.model.operators import GEMM
from pytest_dlbench.planning.operators import operator_spec
from pytest_dlbench.records import CallCheck, Run, RunOutcome, StepCheck
from pytest_dlbench.records.problems import MachineLost, OtherThreads
from pytest_dlbench.records.reasons import ProblemError
from pytest_dlbench.running.hosts.cluster import Cluster
from pytest_dlbench.running.hosts.conversation import MODULE, Asked, Greeting, ServerEndedError
from pytest_dlbench.running.hosts.conversation import line as request
from pytest_dlbench.running.hosts.examining import examined
from pytest_dlbench.running.hosts.host import MOST_MOVES, MachineLostError, UnfitHostError
from pytest_dlbench.running.hosts.ray import RayEngine
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.run_hooks import NO_HOOKS
from pytest_dlbench.running.series import train_series
from pytest_dlbench.running.waits import DeviceBusyError, Patience, Wait
from tests.running.processes import wait_for
from tests.running.specs import BUILDERS, spec
from tests.running.test_operators import SETTINGS

ROOT = Path(__file__).parents[2]
NONE_LEFT = MachineLost(cause="none_left", engine="slurm", is_repetition=True, said="they are lost")


class Pipes:
    """The channel to a process on this machine, which plays a host."""

    def __init__(self, name: str, cores: frozenset[int]) -> None:
        self.name = self.node = name
        self.process = subprocess.Popen(
            ["taskset", "--cpu-list", ",".join(map(str, sorted(cores))), sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            bufsize=0,
        )
        self._arrived: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._arrived.put(line)
        self._arrived.put(b"")

    def send(self, line: bytes) -> None:
        try:
            self.process.stdin.write(line)
        except BrokenPipeError:
            return

    def receive(self, seconds: float) -> bytes | None:
        try:
            line = self._arrived.get(timeout=seconds)
        except queue.Empty:
            return None
        if not line:
            raise ServerEndedError("its process ended")
        return line

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()


class Mortal(Pipes):
    """A host that dies as soon as a run begins on it."""

    def receive(self, seconds: float) -> bytes | None:
        line = super().receive(seconds)
        if line and b'"phase"' in line:
            self.process.kill()
            self.process.wait()
        return line


class Engine:
    """Leases these kinds of hosts in turn, each with these cores."""

    def __init__(self, *kinds: type[Pipes], cores: tuple[frozenset[int], ...] = ()) -> None:
        self._left, self._cores = list(kinds), list(cores)
        self.leases: list[frozenset[str]] = []

    @contextmanager
    def lease(self, patience, lost) -> Iterator[Pipes]:  # noqa: ARG002 - the interface
        if not self._left:
            raise MachineLostError(NONE_LEFT)
        self.leases.append(lost)
        cores = self._cores.pop(0) if self._cores else frozenset(os.sched_getaffinity(0))
        channel = self._left.pop(0)(f"host{len(self.leases)}", cores)
        try:
            yield channel
        finally:
            channel.close()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("DLBENCH_LOCKS", str(tmp_path / "locks"))


def elsewhere(builder, folder, **changes):
    return spec(builder, folder, place=Elsewhere(), **changes)


def cluster(engine: Engine) -> Cluster:
    return Cluster(engine, Asked(), 10.0)


def series(engine: Engine, asked, runs: int = 1, progress=None) -> tuple[tuple[Run, ...], list[Run]]:
    kept: list[Run] = []
    made = train_series(asked, runs, keep=kept.append, progress=progress or Silent(), hosts=cluster(engine))
    return made, kept


def test_runs_are_those_of_this_machine_with_the_name_of_their_host(tmp_path):
    (here,) = train_series(spec("numpy_softmax", tmp_path), 1, keep=[].append, progress=Silent())
    (first, second), kept = series(Engine(Pipes), elsewhere("numpy_softmax", tmp_path), runs=2)
    assert kept == [first, second]
    assert (first.outcome, first.host, second.host) == (RunOutcome.FINISHED, "host1", "host1")
    assert first.training.losses == here.training.losses
    assert {**first.versions, "environment": ""} == {**here.versions, "environment": ""}


def test_the_phases_of_a_run_are_reported_as_here(tmp_path):
    class Listening(Silent):
        def __init__(self):
            self.phases = []

        def phase_began(self, phase):
            self.phases.append(phase)

    local, remote = Listening(), Listening()
    train_series(spec("numpy_softmax", tmp_path), 1, keep=[].append, progress=local)
    series(Engine(Pipes), elsewhere("numpy_softmax", tmp_path), progress=remote)
    assert remote.phases == local.phases


def test_a_pair_alternates_on_one_host(tmp_path):
    asked = elsewhere("numpy_softmax", tmp_path)
    with cluster(Engine(Pipes)).lease((asked, asked), Silent()) as host:
        runs = host.train_pair(*host.specs, 0, Random(0), (NO_HOOKS, NO_HOOKS))
    assert [(run.outcome, run.host) for run in runs] == [(RunOutcome.FINISHED, "host1")] * 2
    assert all(run.training.alternation for run in runs)


def refusal(name: str) -> OtherThreads:
    return OtherThreads(framework=name, requested=1, found=2)


def test_a_hook_of_the_driver_decides_whether_versions_may_run(tmp_path):
    hooks = replace(NO_HOOKS, packages_reported=lambda packages: refusal(packages.name))
    with cluster(Engine(Pipes)).lease((elsewhere("numpy_softmax", tmp_path),), Silent()) as host:
        run = host.train(host.specs[0], 0, hooks)
    assert (run.outcome, run.problem) == (RunOutcome.WRONG_VERSION, refusal("numpy_softmax"))


def test_the_calls_of_an_operator_are_checked_by_the_driver():
    double = Framework(name="double", builder="numpy_operators", folders=(BUILDERS,), variables={"FAULT": "unawaited"})
    product = GEMM(m=192, n=256, k=320)
    asked = replace(operator_spec(SETTINGS, product, double, DEVICES["cpu"]), place=Elsewhere())
    checks: list[StepCheck | CallCheck] = []
    hooks = replace(NO_HOOKS, is_suspicious=lambda check: bool(checks.append(check)))
    with cluster(Engine(Pipes)).lease((asked,), Silent()) as host:
        run = host.train(host.specs[0], 0, hooks)
    assert (run.outcome, run.host) == (RunOutcome.FINISHED, "host1")
    assert {*checks} == {one.checks[0] for one in run.operation.passes.values()}


def test_speeds_are_those_of_the_leased_host(tmp_path):
    hosts = cluster(Engine(Pipes))
    with hosts.lease((elsewhere("numpy_softmax", tmp_path),), Silent()):
        assert hosts.leased == "host1"
        assert hosts.speed(1, "float32").threads == 1
        assert hosts.core_variation() >= 1.0
    assert (hosts.leased, hosts.speed(1, "float32"), hosts.core_variation()) == ("", None, None)


def test_a_run_whose_host_is_lost_is_kept_and_made_on_another(tmp_path):
    engine = Engine(Mortal, Pipes)
    (run,), kept = series(engine, elsewhere("numpy_softmax", tmp_path))
    assert [(one.outcome, one.host, one.index) for one in kept] == [
        (RunOutcome.MACHINE_LOST, "host1", 0),
        (RunOutcome.FINISHED, "host2", 0),
    ]
    assert (run, engine.leases) == (kept[1], [frozenset(), {"host1"}])


def test_a_run_is_made_again_on_two_hosts_at_most(tmp_path):
    engine = Engine(*[Mortal] * 9)
    runs, kept = series(engine, elsewhere("numpy_softmax", tmp_path), runs=2)
    assert [run.outcome for run in kept] == [RunOutcome.MACHINE_LOST] * (MOST_MOVES + 1)
    assert runs == (kept[-1],)
    assert len(engine.leases) == MOST_MOVES + 1


def test_a_run_ends_where_no_host_is_left(tmp_path):
    (run,), kept = series(Engine(Mortal), elsewhere("numpy_softmax", tmp_path))
    assert [one.problem for one in kept] == [
        MachineLost(host="host1", cause="ended", said="its process ended"),
        NONE_LEFT,
    ]
    assert run.outcome is RunOutcome.MACHINE_LOST


def test_hosts_of_another_class_than_the_first_are_refused(tmp_path):
    usable = frozenset(os.sched_getaffinity(0))
    hosts = cluster(Engine(Pipes, Pipes, cores=(usable, frozenset({min(usable)}))))
    assert hosts.machine.cores == len(usable)
    lease = hosts.lease((elsewhere("numpy_softmax", tmp_path),), Silent())
    with pytest.raises(DlbenchError, match=r"host2: its machine class is .*-1cores.*cannot be compared"), lease:
        pytest.fail("leased")


def test_data_that_differ_from_the_drivers_are_refused(tmp_path):
    asked = elsewhere("numpy_softmax", tmp_path)
    other = replace(asked, data=replace(asked.data, digest="0" * 64))
    lease = cluster(Engine(Pipes)).lease((other,), Silent())
    with pytest.raises(DlbenchError, match=r"host1: data set .* expected 000000000000, the driver's"), lease:
        pytest.fail("leased")


def test_a_file_that_a_host_lacks_is_named(tmp_path):
    asked = elsewhere("numpy_softmax", tmp_path)
    moved = replace(asked, framework=replace(asked.framework, folders=(tmp_path / "only here",)))
    (run,), _ = series(Engine(Pipes), moved)
    assert (run.outcome, run.host) == (RunOutcome.FAILED, "host1")
    assert run.message.startswith(f"{tmp_path / 'only here'} does not exist on this host")


def test_no_host_is_leased_for_what_cannot_run(tmp_path):
    absent = spec("numpy_softmax", tmp_path, place=Absent(lack=Lack.UNSUPPORTED, reason="it has no layers"))
    engine = Engine()
    (run,), _ = series(engine, absent)
    assert (run.outcome, engine.leases) == (RunOutcome.UNSUPPORTED, [])


def test_a_host_ends_its_run_with_the_line_to_its_driver(tmp_path):
    channel, ended = None, []

    class Watching(Silent):
        def phase_began(self, phase):
            if phase.startswith("first step"):
                ended.extend(wait_for(lambda: list(tmp_path.glob("dlbench-run-*"))))
                channel.process.stdin.close()

    class Kept(Pipes):
        def __init__(self, *given):
            nonlocal channel
            super().__init__(*given)
            channel = self

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path))
        (run,), _ = series(Engine(Kept), elsewhere("sleeps", tmp_path, steps=600), progress=Watching())
    assert run.outcome is RunOutcome.MACHINE_LOST
    # The host's own clean-up, without its driver's help, which does not wait for it.
    assert len(ended) == 1
    wait_for(lambda: not ended[0].exists())


class Older(Pipes):
    """A host with another version of this package."""

    greeting = Greeting(version="0.0.1", path=())

    def send(self, line: bytes) -> None:
        super().send(request("hello", self.greeting) if b'"hello"' in line else line)


class OtherPython(Older):
    """A host with another version of Python."""

    greeting = Greeting(version=metadata.version("pytest-dlbench"), path=(), python="3.9.18")


class Dead(Pipes):
    """A host whose process cannot start."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.process.kill()


def test_each_host_is_examined_once_and_one_that_cannot_make_runs_with_the_reason():
    patience = Patience(waiting=lambda _: None, limit_seconds=1.0)
    usable = frozenset(os.sched_getaffinity(0))
    kinds = (Pipes, Older, Dead, OtherPython, Pipes)
    engine = Engine(*kinds, cores=(*[usable] * 4, frozenset({min(usable)})))
    first, older, dead, another, other = examined(engine, patience)
    assert [one.host for one in (first, older, dead, another, other)] == [f"host{place}" for place in range(1, 6)]
    assert {"load", "cores"} <= {finding.topic for finding in first.findings}
    assert [(one.problem, one.message) for one in (first, other)] == [(None, "")] * 2
    assert first.machine_class != other.machine_class
    assert re.match(r"host2: pytest-dlbench \S+ is installed in .*, expected 0\.0\.1, the driver's", older.message)
    assert "pytest-dlbench must be installed there" in dead.message
    assert re.match(r"host4: \S+ is Python \S+, expected 3\.9, the driver's \(3\.9\.18\)", another.message)
    assert engine.leases[-1] == {"host1", "host2", "host3", "host4"}


def test_hosts_that_are_not_given_in_time_are_said_to_be_missing():
    class Busy(Engine):
        @contextmanager
        def lease(self, patience, lost):
            if not self._left:
                raise DeviceBusyError(Wait(device="a host", holders=(), seconds=1.0, limit_seconds=1.0))
            with super().lease(patience, lost) as channel:
                yield channel

    found = list(examined(Busy(Pipes), Patience(waiting=lambda _: None, limit_seconds=1.0)))
    assert [(one.host, one.message) for one in found] == [
        ("host1", ""),
        ("", "a host did not become free within 1 s"),
    ]


def test_a_host_that_its_engine_calls_unfit_is_examined_no_further():
    class Unfit(Engine):
        @contextmanager
        def lease(self, patience, lost):
            if not lost:
                raise UnfitHostError("host0: of low priority", "host0", "node0")
            with super().lease(patience, lost) as channel:
                yield channel

    found = list(examined(engine := Unfit(Pipes), Patience(waiting=lambda _: None)))
    assert [(one.host, one.message) for one in found] == [("host0", "host0: of low priority"), ("host1", "")]
    assert engine.leases == [{"node0"}]


def test_a_cluster_without_hosts_cannot_be_examined():
    with pytest.raises(ProblemError) as raised:
        list(examined(Engine(), Patience(waiting=lambda _: None)))
    assert raised.value.problem == NONE_LEFT


def test_without_ray_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    hosts = Cluster(RayEngine(), Asked(), 1.0)
    with pytest.raises(DlbenchError, match=r'--dlbench-on ray: .*pip install "pytest-dlbench\[ray\]"'):
        assert hosts.machine


# What this process imports instead of Ray, which would join a cluster of another version.
OTHER_RAY = """
def is_initialized():
    return False

def init(**_):
    raise RuntimeError(
        "Version mismatch: The cluster was started with:\\n    Ray: 2.50.0\\n    Python: 3.12.1\\n"
        "This process on 10.0.0.1 was started with:\\n    Ray: 2.60.0\\n    Python: 3.11.7\\n"
    )
"""


def test_where_ray_refuses_this_version_the_message_has_both(tmp_path, monkeypatch):
    (tmp_path / "ray.py").write_text(OTHER_RAY)
    found = spec_from_file_location("ray", tmp_path / "ray.py")
    module = module_from_spec(found)
    found.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "ray", module)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(DlbenchError) as raised:
        assert Cluster(RayEngine(), Asked(), 1.0).machine
    assert "cluster was started with: Ray: 2.50.0 Python: 3.12.1" in str(raised.value)
    assert "was started with: Ray: 2.60.0 Python: 3.11.7: install the same on all hosts" in str(raised.value)


def test_a_cluster_without_hosts_says_so_where_its_class_is_asked_for():
    with pytest.raises(ProblemError) as raised:
        assert cluster(Engine()).machine
    assert raised.value.problem == NONE_LEFT
