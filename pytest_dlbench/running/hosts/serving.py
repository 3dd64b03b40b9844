"""The process that makes the runs of a driver on a leased host: ``python -m pytest_dlbench.running.hosts.serving``.

It reads requests from its standard input and writes replies to its standard output (conversation.py). It ends, and all
that it started, once its input ends or nothing has come from the driver for SILENCE_SECONDS.
"""

import os
import platform
import queue
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from pytest_dlbench.data import Prepared
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.environments.devices import DEVICES
from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.environments.placing import Absent, Lack, Place, Places
from pytest_dlbench.environments.requested import Packages
from pytest_dlbench.errors import DataMissingError, DlbenchError
from pytest_dlbench.records import CallCheck, Case, StepCheck, codec
from pytest_dlbench.records.problems import Problem
from pytest_dlbench.running import addresses, interrupts
from pytest_dlbench.running.alternating import TooLittleMemoryError
from pytest_dlbench.running.conditions import conditions
from pytest_dlbench.running.devices import lacking
from pytest_dlbench.running.hosts.conversation import (
    BEAT,
    BEAT_SECONDS,
    CANCEL,
    SILENCE_SECONDS,
    Asked,
    Greeting,
    Placed,
    Refusal,
    unpacked,
)
from pytest_dlbench.running.hosts.local import THIS_MACHINE, LocalHost
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import NetworkSpec, ProgramSpec, RunSpec
from pytest_dlbench.running.waits import DeviceBusyError, Wait
from pytest_dlbench.sampling.sampler import MakeSampler
from pytest_dlbench.sampling.survivors import driver_id, end_workers_of

READ_BYTES = 2**16


class Line:
    """The line to the driver. A thread reads it, and ends this process once the driver is gone."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, replies
        self._writing = threading.Lock()
        self._arrived: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def next(self) -> dict[str, Any]:
        """The next request or answer."""
        return self._arrived.get()

    def write(self, **fields: Any) -> None:
        """Send an event or a reply."""
        self._write(codec.encode_line(fields))

    def _write(self, text: bytes) -> None:
        with self._writing:
            while text:
                text = text[os.write(self._replies, text) :]

    def _listen(self) -> None:
        read, heard = b"", monotonic()
        with suppress(OSError):
            while monotonic() < heard + SILENCE_SECONDS:
                if select.select([self._requests], [], [], BEAT_SECONDS)[0]:
                    if not (chunk := os.read(self._requests, READ_BYTES)):
                        break
                    heard = monotonic()
                    *lines, read = (read + chunk).split(b"\n")
                    for line in lines:
                        self._take(line + b"\n")
                self._write(BEAT)
        # As Ctrl-C does: the main thread ends its worker, and all that this started.
        os.kill(os.getpid(), signal.SIGTERM)

    def _take(self, line: bytes) -> None:
        if line == CANCEL:
            end_workers_of(driver_id())
        elif line != BEAT:
            self._arrived.put(msgspec.json.decode(line))


class Forwarding(Silent):
    """The progress of this host, which the driver shows."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def building(self, name: str, doing: str) -> None:
        """Pass it on."""
        self._line.write(event="building", name=name, doing=doing)

    def waiting(self, case: Case, wait: Wait) -> None:  # noqa: ARG002 - the driver knows the case
        """Pass it on, without the driver's limit: JSON has no infinity."""
        self._line.write(event="waiting", wait=replace(wait, limit_seconds=0.0))


class Server:
    """Serves one driver: the specs of one case, on a device that is locked until the end."""

    def __init__(self, line: Line) -> None:
        self._line, self._locks = line, ExitStack()
        self._host: LocalHost | None = None

    def serve(self) -> None:
        """All requests, until the driver ends this process."""
        operations: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
            "hello": self._hello,
            "conditions": self._conditions,
            "lease": self._lease,
            "train": self._train,
            "meet": self._meet,
            "pair": self._pair,
            "speed": self._speed,
            "core_variation": self._core_variation,
        }
        with self._locks:
            while True:
                request = self._line.next()
                if request["op"] == "end":
                    return
                try:
                    self._line.write(reply=operations[request["op"]](request))
                except DlbenchError as error:
                    self._line.write(refused=str(error))
                except DeviceBusyError as error:
                    self._line.write(busy=error.wait)
                except TooLittleMemoryError:
                    self._line.write(reply={"runs": []})
                except Exception:
                    self._line.write(refused=traceback.format_exc())

    def _hello(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        (greeting,) = unpacked(request)
        _check(greeting)
        sys.path += [folder for folder in greeting.path if folder not in sys.path]
        return {"machine": THIS_MACHINE.machine, "host": platform.node(), "addresses": addresses.own()}

    def _conditions(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"findings": conditions()}

    def _lease(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        specs, asked = unpacked(request)
        progress = Forwarding(self._line)
        placed = [_placed(spec, asked, progress) for spec in specs]
        self._host = self._locks.enter_context(THIS_MACHINE.lease(placed, progress))
        return {"placed": list(map(_described, self._host.specs))}

    def _train(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        spec, index, samplers, is_checked = unpacked(request)
        assert self._host is not None
        run = self._host.train(_own(spec), index, self._hooks(samplers, is_checked, side=0))
        return {"runs": [run]}

    def _meet(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Where workers of hosts with these addresses can meet one of this host."""
        address = addresses.reached_from(request["others"])
        return {"address": address, "port": addresses.free_ports(1, address)[0]}

    def _pair(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        specs, index, order, samplers, is_checked = unpacked(request)
        assert self._host is not None
        hooks = [self._hooks(samplers, is_checked, side) for side in (0, 1)]
        first, second = map(_own, specs)
        return {"runs": self._host.train_pair(first, second, index, order, hooks)}

    def _speed(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        found = THIS_MACHINE.speed(request["threads"], request["precision"])
        return {"speed": [found] if found else []}

    def _core_variation(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"core_variation": [THIS_MACHINE.core_variation()]}

    def _hooks(self, samplers: Sequence[MakeSampler], is_checked: bool, side: int) -> RunHooks:
        """Callbacks that the driver answers, while the worker waits."""

        def is_suspicious(check: StepCheck | CallCheck) -> bool:
            return bool(self._ask(event="check", kind=type(check).__name__, check=check, side=side))

        def refusal(packages: Packages) -> Problem | None:
            answer = self._ask(event="packages", packages=packages, side=side)
            return codec.convert(answer, Refusal, "the driver's answer").problem

        return RunHooks(
            samplers=tuple(samplers),
            is_suspicious=is_suspicious if is_checked else None,
            phase_began=lambda phase: self._line.write(event="phase", phase=phase, side=side),
            packages_reported=refusal,
            weights_known=lambda weights: self._line.write(event="weights", weights=weights, side=side),
        )

    def _ask(self, **fields: Any) -> Any:
        self._line.write(**fields)
        return self._line.next()["answer"]


def _check(greeting: Greeting) -> None:
    """Raise DlbenchError if runs here would not be those of the driver's own package."""
    here = metadata.version("pytest-dlbench")
    if here != greeting.version:
        raise DlbenchError(
            f"pytest-dlbench {here} is installed in {sys.executable}, expected {greeting.version}, the driver's"
        )
    # What travels as pickles is read by the same Python only.
    python = platform.python_version()
    if _minor(python) != _minor(greeting.python):
        raise DlbenchError(
            f"{sys.executable} is Python {python}, expected {_minor(greeting.python)}, the driver's ({greeting.python})"
        )


def _minor(version: str) -> str:
    """``3.11`` of ``3.11.7``."""
    return ".".join(version.split(".")[:2])


def _placed(spec: RunSpec, asked: Asked, progress: Forwarding) -> RunSpec:
    """The spec with its data and its environment on this host."""
    if isinstance(spec.place, Absent):
        return spec
    if missing := [str(path) for path in _paths(spec) if not path.exists()]:
        reason = f"{missing[0]} does not exist on this host; the driver's files must have the same paths on every host"
        return replace(spec, place=Absent(lack=Lack.BROKEN, reason=reason))
    if reason := lacking(spec.framework, DEVICES[spec.case.device]):
        return replace(spec, place=Absent(lack=Lack.UNSUPPORTED, reason=reason))
    try:
        for theirs in _data(spec):
            _compare(theirs, prepare(theirs.dataset))
    except DataMissingError as error:
        return replace(spec, place=Absent(lack=Lack.NO_DATA, reason=str(error)))
    places = Places(store=EnvironmentStore(pythons=asked.pythons), progress=progress if asked.builds else None)
    return replace(_own(spec), place=places.find(spec.framework))


def _paths(spec: RunSpec) -> Iterator[Path]:
    """Files of the driver that a run needs here, too."""
    framework: Framework = spec.framework
    yield from framework.folders
    yield from [framework.python] if framework.python else []
    yield from [framework.checkout.root] if framework.checkout else []
    yield from [spec.root] if isinstance(spec, ProgramSpec) else []


def _data(spec: RunSpec) -> tuple[Prepared, ...]:
    if isinstance(spec, NetworkSpec):
        return tuple(data for data in (spec.data, spec.whole) if data)
    return tuple(spec.data.values()) if isinstance(spec, ProgramSpec) else ()


def _compare(theirs: Prepared, ours: Prepared) -> None:
    """Raise DlbenchError unless a data set is the driver's."""
    if ours.digest != theirs.digest:
        raise DlbenchError(
            f"data set {ours.dataset.name}: {ours.folder} has the digest {ours.digest[:12]}, expected"
            f" {theirs.digest[:12]}, the driver's: delete the folder that is wrong; it is prepared again"
        )


def _own(spec: RunSpec) -> RunSpec:
    """The spec with the data of this host."""
    if isinstance(spec, NetworkSpec):
        whole = prepare(spec.whole.dataset) if spec.whole else None
        return replace(spec, data=prepare(spec.data.dataset), whole=whole)
    if isinstance(spec, ProgramSpec):
        return replace(spec, data={name: prepare(data.dataset) for name, data in spec.data.items()})
    return spec


def _described(spec: RunSpec) -> Placed:
    place = spec.place
    if isinstance(place, Absent):
        return Placed(lack=place.lack, reason=place.reason)
    assert isinstance(place, Place)
    return Placed(
        python=str(place.python),
        environment=place.environment,
        caches=str(place.caches),
        variables=place.variables,
        requirements=place.requirements,
        gpu=spec.gpu,
        cores=tuple(spec.cores),
    )


def main() -> None:
    """Serve the driver at the other end of the standard input."""
    # What a library prints must not become part of a reply.
    replies = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(KeyboardInterrupt, BrokenPipeError), interrupts.handled():
        Server(Line(sys.stdin.fileno(), replies)).serve()


if __name__ == "__main__":
    main()
