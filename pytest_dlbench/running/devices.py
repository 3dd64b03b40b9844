"""Locks on devices: one measured run per GPU at a time, and nothing else while a run on the CPU is measured.

Untimed runs may run concurrently, each on its own cores, but never during a measurement.
"""

import fcntl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from itertools import islice
from typing import TypeVar

from pytest_dlbench.environments.cuda import Cuda
from pytest_dlbench.environments.devices import DEVICES, OPENCL, OPENCL_DRIVERS, Device, visible_gpus
from pytest_dlbench.environments.frameworks import FOR_PROCESSORS, Framework
from pytest_dlbench.records import Machine
from pytest_dlbench.running import pinning
from pytest_dlbench.running.guard import guarded
from pytest_dlbench.running.lock_folder import InUseError, LockFolder
from pytest_dlbench.running.waits import REPORT_SECONDS, DeviceBusyError, Patience, Wait
from pytest_dlbench.sampling.installed import Installed, installed
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.sampling.nvml import NoGpuError

# How often a waiting process retries: seldom enough not to disturb the one that measures.
WAIT_PERIOD_SECONDS = 0.5
CPU = "cpu"
# The first is held by every run that is measured or waits to be, the second by every untimed run.
TIMED, UNTIMED = "timed", "untimed"
T = TypeVar("T")


def gpus(numbers: Sequence[int] = ()) -> tuple[str, ...]:
    """The UUIDs of the GPUs with these numbers, of all that this session may use without numbers.

    None if CUDA_VISIBLE_DEVICES hides them; a single empty one if no library can list them.
    """
    names = visible_gpus()
    if names == ():
        return ()
    try:
        found = _installed(names).gpus
    except NoGpuError:
        return ("",)
    return tuple(found[number].uuid for number in numbers or range(len(found)))


def cores_near(gpu: str) -> frozenset[int]:
    """The cores for a worker on the GPU with this UUID: those next to it, otherwise all that this process may use."""
    try:
        found = _installed((gpu,) if gpu else visible_gpus()).gpus
    except NoGpuError:
        return pinning.near("")
    return pinning.near(found[0].bus)


def machine(numbers: Sequence[int] = ()) -> Machine:
    """The class of this machine, with the kinds of the GPUs that this session may use, and their driver."""
    names = visible_gpus()
    if names == ():
        return this_machine(())
    if not DEVICES["gpu"].may_exist:
        return this_machine()
    try:
        found = _installed(names)
    except NoGpuError:
        return this_machine()
    chosen = [gpu for number, gpu in enumerate(found.gpus) if not numbers or number in numbers]
    return this_machine(tuple(gpu.kind for gpu in chosen), found.driver)


def lacking(framework: Framework, device: Device) -> str:
    """Why a case cannot run on a device of this machine, known before the framework is imported; empty if it might."""
    if device.name == OPENCL:
        return _without_opencl(framework, device)
    if device.name == CPU or framework.takes_processor_as_gpu:
        return ""
    if not device.may_exist:
        return f"no {device.name} on this machine"
    if framework.is_for_processors:
        return f"{framework.name}: {FOR_PROCESSORS}"
    return problem(device.numbers) or _without_cuda(framework, device)


def _without_opencl(framework: Framework, device: Device) -> str:
    """Why the framework's code for GPUs cannot run on the processor."""
    if not framework.has_opencl:
        return f"{framework.name} does not compute by OpenCL: --dlbench-devices={device.name} is for tinygrad"
    return "" if device.is_available else f"{OPENCL_DRIVERS} names no OpenCL driver: apt-get install pocl-opencl-icd"


def _without_cuda(framework: Framework, device: Device) -> str:
    """Why the framework's build for CUDA cannot run here: found out before gigabytes are installed."""
    cuda = framework.environments[0].cuda if framework.environments else None
    reason = refusal(cuda, device.numbers) if cuda else ""
    return f"{framework.name}: {reason}" if reason else ""


def problem(numbers: Sequence[int] = ()) -> str:
    """Why cases cannot run on the GPUs with these numbers, all without numbers; empty if they can, or if none is known.

    Cases never run on several kinds of GPUs: which one is free would decide their figures.
    """
    names = visible_gpus()
    try:
        found = _installed(names).gpus if names != () else ()
    except NoGpuError as error:
        return f"gpu:{numbers[0]} cannot be found: {error}" if numbers else ""
    listed = "; ".join(f"gpu:{number} is {gpu.kind}" for number, gpu in enumerate(found))
    if absent := [number for number in numbers if number >= len(found)]:
        return f"there is no gpu:{absent[0]} among those that this session may use: {listed}"
    if len({gpu.kind for number, gpu in enumerate(found) if not numbers or number in numbers}) > 1:
        return f"the GPUs are of several kinds, which cannot be compared: {listed}. Choose with --dlbench-devices=gpu:0"
    return ""


def refusal(cuda: Cuda, numbers: Sequence[int] = ()) -> str:
    """Why a build for CUDA cannot run on the GPUs with these numbers; empty if it can, or if that is not known."""
    names = visible_gpus()
    try:
        found = _installed(names) if names != () else None
    except NoGpuError:
        found = None
    if found is None:
        return ""
    chosen = [gpu for number, gpu in enumerate(found.gpus) if not numbers or number in numbers]
    reasons = (cuda.refusal(gpu.model, gpu.capability, found.driver) for gpu in chosen)
    return next(filter(None, reasons), "")


@lru_cache
def _installed(names: tuple[str, ...] | None) -> Installed:
    return installed(names)


def places(device: str, find_gpus: Callable[[], Sequence[str]] = gpus) -> int:
    """How many cases can be measured on a device at the same time."""
    return 1 if device in (CPU, OPENCL) else max(1, len(find_gpus()))


@contextmanager
def held(device: str, patience: Patience, find_gpus: Callable[[], Sequence[str]] = gpus) -> Iterator[str]:
    """Lock a device to measure on it; yields the UUID of the GPU, empty for the CPU.

    A case on the CPU has the machine to itself. Cases on GPUs share it, each with its own GPU. New ``shared`` blocks
    must wait from now on, and those that already run are waited for. Raises DeviceBusyError.
    """
    names = () if device in (CPU, OPENCL) else tuple(find_gpus())
    with LockFolder() as folder, ExitStack() as request:
        folder.lock(request, TIMED, fcntl.LOCK_SH, is_short=True)
        folder.note(request, TIMED)
        with _acquired(device, folder, partial(_free_gpu, folder, gpus=names), patience) as gpu:
            yield gpu


@contextmanager
def shared(threads: int, patience: Patience, cores: Sequence[int] | None = None) -> Iterator[frozenset[int]]:
    """Lock cores for an untimed run; yields cores that no other such run has.

    They are the first ``threads`` free ones of ``cores``; none if the system cannot pin processes. Never during a
    measurement, nor while one waits. Raises DeviceBusyError.
    """
    ranked = pinning.ranked() if cores is None else tuple(cores)
    with LockFolder() as folder:
        acquire = partial(_free_cores, folder, ranked=ranked, threads=min(threads, len(ranked)))
        with _acquired(CPU, folder, acquire, patience) as found:
            yield found


@contextmanager
def _acquired(
    device: str, folder: LockFolder, acquire: Callable[[ExitStack, list[int]], T], patience: Patience
) -> Iterator[T]:
    """The result of ``acquire`` once it raises no InUseError; it adds its locks to the stack and the list."""
    began = time.monotonic()
    # The first attempt may have met another one's probe, which holds a lock for a moment.
    report, give_up = began + WAIT_PERIOD_SECONDS, began + max(patience.limit_seconds, 2 * WAIT_PERIOD_SECONDS)
    while True:
        with ExitStack() as locks:
            descriptors: list[int] = []
            try:
                found = acquire(locks, descriptors)
            except InUseError as error:
                names = error.names
            else:
                # If this process is killed, the device is not free before its workers have ended.
                locks.enter_context(guarded(descriptors))
                yield found
                return
        now = time.monotonic()
        if now >= min(report, give_up):
            wait = Wait(
                device=device,
                holders=folder.holders(names),
                seconds=now - began,
                limit_seconds=patience.limit_seconds,
            )
            if now >= give_up:
                raise DeviceBusyError(wait)
            patience.waiting(wait)
            report = now + REPORT_SECONDS
        time.sleep(WAIT_PERIOD_SECONDS)


def _free_gpu(folder: LockFolder, locks: ExitStack, descriptors: list[int], gpus: Sequence[str]) -> str:
    """A free GPU, locked together with the CPU; empty if ``gpus`` is empty. Raises InUseError."""
    folder.check_free(UNTIMED)
    descriptors.append(folder.lock(locks, CPU, fcntl.LOCK_SH if gpus else fcntl.LOCK_EX))
    if not gpus:
        folder.note(locks, CPU)
        return ""
    for gpu in gpus:
        if (descriptor := _if_free(folder, locks, f"gpu-{gpu}")) is not None:
            descriptors.append(descriptor)
            for name in (CPU, f"gpu-{gpu}"):
                folder.note(locks, name)
            return gpu
    raise InUseError(*(f"gpu-{gpu}" for gpu in gpus))


def _free_cores(
    folder: LockFolder, locks: ExitStack, descriptors: list[int], ranked: Sequence[int], threads: int
) -> frozenset[int]:
    """That many free cores, locked; raises InUseError if too few are free, or somebody measures or waits to."""
    # Take our own lock before checking the other one: of two that start together, at least one sees the other.
    descriptors.append(folder.lock(locks, UNTIMED, fcntl.LOCK_SH, is_short=True))
    folder.check_free(TIMED)
    free = ((core, _if_free(folder, locks, f"core-{core}")) for core in ranked)
    found = dict(islice(((core, descriptor) for core, descriptor in free if descriptor is not None), threads))
    if len(found) < threads:
        raise InUseError(UNTIMED)
    descriptors += found.values()
    folder.note(locks, UNTIMED)
    return frozenset(found)


def _if_free(folder: LockFolder, locks: ExitStack, name: str) -> int | None:
    try:
        return folder.lock(locks, name, fcntl.LOCK_EX)
    except InUseError:
        return None
