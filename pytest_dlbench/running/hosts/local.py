"""Runs on the driver's own machine: a lease is a lock on the device."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from pytest_dlbench.environments.placing import Absent, Place
from pytest_dlbench.records import Machine, MachineSpeed, Run
from pytest_dlbench.running import alternating, devices
from pytest_dlbench.running.page_cache import forget_libraries, forget_once
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.speed import machine_speed
from pytest_dlbench.running.training import train_once
from pytest_dlbench.running.waits import Patience
from pytest_dlbench.sampling import steadiness


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalHost:
    """The driver's own machine while a device of it is locked."""

    specs: tuple[RunSpec, ...]
    name: str = ""

    def train(self, spec: RunSpec, index: int, hooks: RunHooks) -> Run:
        """One run in a fresh process."""
        return train_once(spec, index, hooks)

    def train_pair(
        self, first: RunSpec, second: RunSpec, index: int, order: Random, hooks: Sequence[RunHooks]
    ) -> tuple[Run, ...]:
        """Two runs whose steps alternate."""
        return alternating.train_pair(first, second, index, order, hooks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThisMachine:
    """The driver's own machine, with the GPUs of these numbers; all without numbers."""

    gpu_numbers: tuple[int, ...] = ()
    leased: str = ""

    @property
    def machine(self) -> Machine:
        """Its class."""
        return devices.machine(self.gpu_numbers)

    @contextmanager
    def lease(
        self,
        specs: Sequence[RunSpec],
        progress: Progress,
        lost: frozenset[str] = frozenset(),  # noqa: ARG002 - a machine that is lost takes its driver with it
    ) -> Iterator[LocalHost]:
        """Lock the device of the specs, which are those of one case; what cannot run needs none."""
        spec = specs[-1]
        case = spec.case
        patience = Patience(waiting=partial(progress.waiting, case), limit_seconds=spec.wait_seconds)
        if all(isinstance(one.place, Absent) for one in specs):
            yield LocalHost(specs=tuple(specs))
        elif spec.is_timed or case.device != devices.CPU:
            with devices.held(case.device, patience, partial(devices.gpus, spec.gpu_numbers)) as gpu:
                cores = devices.cores_near(gpu) if case.device == "gpu" else frozenset[int]()
                _start_alike(specs)
                yield LocalHost(specs=tuple(replace(one, gpu=gpu, cores=cores) for one in specs))
        else:
            with devices.shared(case.threads * spec.workers_here, patience) as cores:
                _start_alike(specs)
                yield LocalHost(specs=tuple(replace(one, cores=cores) for one in specs))

    def speed(self, threads: int, precision: str) -> MachineSpeed | None:
        """Measured now."""
        return machine_speed(threads, precision)

    def core_variation(self) -> float:
        """Measured now."""
        return steadiness.core_variation()


def _start_alike(specs: Sequence[RunSpec]) -> None:
    """The sides of a pair begin with the same pages in memory, and sessions with those of the session before."""
    pythons = {one.place.python for one in specs if isinstance(one.place, Place)}
    if len(pythons) > 1:
        forget_libraries(pythons)
    else:
        for python in pythons:
            forget_once(python)


THIS_MACHINE = ThisMachine()
