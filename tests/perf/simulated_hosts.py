"""A plugin whose hosts and workers are simulated; the driver that leases them, its journal, view and report are real.

Every reply of a host is that of a real one: one run of a NumPy double is made first, and replayed for each case. The
environment variable SETTINGS has what to simulate, as JSON: the number of ``hosts``, after how many leases one is lost
(``lost_every``), after how many cases the driver is measured (``every``), whether the instructions of a case are
counted then (``counts``), after how many the session ends (``until``, 0 for never), and the file of the
``measurements``.
"""

import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, process_time
from types import FrameType

import msgspec
import psutil
import pytest

from pytest_dlbench.environments.placing import CURRENT
from pytest_dlbench.environments.requested import Packages
from pytest_dlbench.options import settings
from pytest_dlbench.records import Run, codec
from pytest_dlbench.records.problems import MachineLost
from pytest_dlbench.running.hosts.conversation import BEAT, Placed, ServerEndedError, unpacked
from pytest_dlbench.running.hosts.host import MachineLostError
from pytest_dlbench.running.hosts.local import THIS_MACHINE
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.series import train_series
from pytest_dlbench.running.waits import Patience
from tests.doubles.speed import known
from tests.running.specs import spec

SETTINGS = "DLBENCH_SIMULATED"
PHASES = ("import", "build", "first step and 7 more", "evaluation", "end")
PACKAGES = Packages(name="double", python="3.11", installed={}, requested=())


@cache
def template() -> Run:
    """A run that a real worker has made on this machine."""
    with TemporaryDirectory() as folder:
        (run,) = train_series(spec("numpy_softmax", Path(folder)), 1, keep=lambda _: None, progress=Silent())
    return run


class Channel:
    """The conversation with a simulated host, which replies at once; ``is_dying`` if its next run is never finished."""

    def __init__(self, name: str, *, is_dying: bool) -> None:
        self.name = self.node = name
        self._is_dying, self._is_dead = is_dying, False
        self._lines: deque[bytes] = deque()
        self._training: tuple[RunSpec, int] | None = None

    def send(self, line: bytes) -> None:
        """Reply, which is what a real host writes."""
        if line == BEAT:
            self._lines.append(BEAT)
            return
        request = msgspec.json.decode(line)
        match request["op"]:
            case "hello":
                self._reply(machine=THIS_MACHINE.machine, host=self.name, addresses=())
            case "lease":
                placed = Placed(python="/usr/bin/python3", environment=CURRENT, caches="/tmp")
                self._reply(placed=[placed for _ in unpacked(request)[0]])
            case "speed":
                self._reply(speed=[known(request["threads"], request["precision"])])
            case "train":
                self._training = unpacked(request)[:2]
                self._write(event="packages", packages=PACKAGES, side=0)
            case "answer":
                self._train()
            case "end":
                self._is_dead = True

    def receive(self, seconds: float) -> bytes | None:  # noqa: ARG002 - a reply never has to be waited for
        """The next line."""
        if self._lines:
            return self._lines.popleft()
        if self._is_dying:
            raise MachineLostError(MachineLost(host=self.name, cause="engine", said="it was lost"), self.node)
        assert self._is_dead, "the driver waits for a host that has nothing to say"
        raise ServerEndedError("it was asked to")

    def _train(self) -> None:
        assert self._training
        spec, index = self._training
        for phase in PHASES:
            self._write(event="phase", phase=phase, side=0)
        if not self._is_dying:
            began = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._reply(runs=[replace(template(), case=spec.case.id, index=index, seed=spec.seed + index, began=began)])

    def _reply(self, **fields: object) -> None:
        self._write(reply=fields)

    def _write(self, **fields: object) -> None:
        self._lines.append(codec.encode_line(fields))


class Engine:
    """Leases simulated hosts in turn; every ``lost_every``-th lease loses its host."""

    def __init__(self, hosts: int, lost_every: int) -> None:
        self._names = [f"host{number:04}" for number in range(1, hosts + 1)]
        self._lost_every, self._leases = lost_every, count(1)
        self._leased: set[str] = set()
        self.used: set[str] = set()

    @contextmanager
    def lease(self, patience: Patience, lost: frozenset[str]) -> Iterator[Channel]:  # noqa: ARG002 - none is in use
        """The next host that was not lost."""
        number = next(self._leases)
        places = (self._names[(number + skipped) % len(self._names)] for skipped in count())
        name = next(place for place in places if place not in lost)
        assert name not in self._leased
        self._leased.add(name)
        self.used.add(name)
        try:
            yield Channel(name, is_dying=number % self._lost_every == 0)
        finally:
            self._leased.remove(name)


class Counter:
    """Counts the bytecode instructions of this thread, which no other process can disturb."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> "Counter":
        """What ``sys.settrace`` calls."""
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            self.count += 1
        return self


class Meter:
    """Measures this process again and again, and counts the instructions of the next case if ``counts``."""

    def __init__(self, engine: Engine, every: int, until: int, file: Path, *, counts: bool) -> None:
        self._engine, self._every, self._until, self._file, self._counts = engine, every, until, file, counts
        self._process, self._cases = psutil.Process(), 0
        self._rows: list[dict[str, float]] = []
        self._counter: Counter | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Before the first case."""
        self._session = session
        self._measure()

    def pytest_runtest_logstart(self) -> None:
        """Before a case."""
        if self._counts and self._cases and self._cases % self._every == 0:
            self._counter = Counter()
            sys.settrace(self._counter)

    def pytest_runtest_logfinish(self) -> None:
        """After a case."""
        sys.settrace(None)
        self._cases += 1
        if self._cases % self._every == 0:
            self._measure()
        if self._cases == self._until:
            self._session.shouldstop = "these were enough"

    def pytest_unconfigure(self) -> None:
        """After the last report."""
        self._measure()

    def _measure(self) -> None:
        cases, rss = self._cases, self._process.memory_info().rss
        row = {"cases": cases, "seconds": monotonic(), "cpu_seconds": process_time(), "rss_bytes": rss}
        row["instructions"] = self._counter.count if self._counter else 0
        self._rows.append(row)
        self._file.write_text(json.dumps({"rows": self._rows, "hosts": len(self._engine.used)}))


def pytest_configure(config: pytest.Config) -> None:
    """For this session."""
    asked = json.loads(os.environ[SETTINGS])
    template()
    engine = Engine(asked["hosts"], asked["lost_every"])
    patch = pytest.MonkeyPatch()
    patch.setattr(settings, "engine", lambda _: engine)
    config.add_cleanup(patch.undo)
    meter = Meter(engine, asked["every"], asked["until"], Path(asked["measurements"]), counts=asked["counts"])
    config.pluginmanager.register(meter)
