"""GPUs during a phase: aggregates single readings from any vendor's library into the figures of the phase."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Protocol, TypeVar

from pytest_dlbench.records import GpuUsage

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """The state of a GPU at one moment; None for a figure that it does not report.

    ``joules`` count from when the driver was loaded, ``utilisation`` is from 0 to 1. ``process_bytes`` is memory by
    process id, None where the memory of a process is not reported. ``slowed_by`` lists the reasons for throttling.
    """

    seconds: float
    utilisation: float | None = None
    memory_bytes: int | None = None
    process_bytes: Mapping[int, int | None] | None = None
    watts: float | None = None
    joules: float | None = None
    celsius: float | None = None
    sm_mhz: float | None = None
    slowed_by: tuple[str, ...] = ()


class Gpu(Protocol):
    """One GPU, as its vendor's library presents it. nvml.py has NVIDIA's; another vendor's goes next to it."""

    @property
    def name(self) -> str:
        """The model name."""
        ...

    @property
    def uuid(self) -> str:
        """Identifies the GPU."""
        ...

    @property
    def absent(self) -> Mapping[str, str]:
        """The figures that the GPU does not report, and why."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """What changes its speed and is none of the framework's business, by name: limits, modes, its link."""
        ...

    def read(self) -> GpuReading:
        """Read all figures now."""
        ...


@dataclass(slots=True)
class GpuSampler:
    """Samples the GPUs of a run. ``pids`` returns the worker's process ids."""

    gpus: Sequence[Gpu]
    pids: Callable[[], Iterable[int]]
    _readings: list[list[GpuReading]] = field(default_factory=list)

    def settings(self) -> Mapping[str, str]:
        """The settings of the GPUs, such as {"GPU power limit": "400 W"}; of several GPUs, with their places."""
        several = len(self.gpus) > 1
        places = (f"GPU {place}" if several else "GPU" for place in range(len(self.gpus)))
        named = zip(places, self.gpus, strict=True)
        return {f"{which} {name}": value for which, gpu in named for name, value in gpu.settings.items()}

    def begin(self) -> None:
        """Start a phase."""
        self._readings = [[gpu.read()] for gpu in self.gpus]

    def sample(self) -> None:
        """Read every GPU."""
        for gpu, readings in zip(self.gpus, self._readings, strict=True):
            readings.append(gpu.read())

    def end(self) -> tuple[GpuUsage, ...]:
        """End the phase; the usage of each GPU in it."""
        self.sample()
        ours = frozenset(self.pids())
        pairs = zip(self.gpus, self._readings, strict=True)
        return tuple(usage(gpu, readings, ours) for gpu, readings in pairs)


def usage(gpu: Gpu, readings: Sequence[GpuReading], ours: frozenset[int]) -> GpuUsage:
    """The usage of a GPU in a phase, from two or more readings; ``ours`` are the worker's process ids."""
    joules, source = energy(readings)
    slowed = Counter(reason for reading in readings for reason in reading.slowed_by)
    foreign = None if (seen := _seen(readings, ours)) is None else len(seen - ours)
    return GpuUsage(
        name=gpu.name,
        uuid=gpu.uuid,
        utilisation=_mean(reading.utilisation for reading in readings),
        utilisation_peak=_peak(reading.utilisation for reading in readings),
        memory_peak_bytes=_peak(reading.memory_bytes for reading in readings),
        process_memory_peak_bytes=_peak(_process_bytes(reading, ours) for reading in readings),
        power_mean_watts=_mean(reading.watts for reading in readings),
        energy_joules=joules,
        energy_source=source,
        temperature_peak_celsius=_peak(reading.celsius for reading in readings),
        sm_clock_mean_mhz=_mean(reading.sm_mhz for reading in readings),
        slowed_by=tuple(sorted(slowed)),
        slowed_shares={reason: slowed[reason] / len(readings) for reason in sorted(slowed)},
        foreign_processes=foreign,
        absent=dict(gpu.absent),
    )


def energy(readings: Sequence[GpuReading]) -> tuple[float | None, str]:
    """Joules of a phase and their source: the GPU's counter, else power integrated by the trapezoidal rule."""
    first, last = readings[0], readings[-1]
    if first.joules is not None and last.joules is not None:
        return last.joules - first.joules, "counter"
    known = [(reading.seconds, reading.watts) for reading in readings if reading.watts is not None]
    if len(known) < 2:
        return None, ""
    return sum((late - early) * (one + two) / 2 for (early, one), (late, two) in pairwise(known)), "integrated power"


def _seen(readings: Sequence[GpuReading], ours: frozenset[int]) -> frozenset[int] | None:
    """All processes seen on the GPU; None if ours are not among them, as with ids from another PID namespace."""
    seen = frozenset(pid for reading in readings for pid in reading.process_bytes or ())
    return seen if seen & ours else None


def _process_bytes(reading: GpuReading, ours: frozenset[int]) -> int | None:
    found = [size for pid, size in (reading.process_bytes or {}).items() if pid in ours and size is not None]
    return sum(found) if found else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _peak(values: Iterable[Number | None]) -> Number | None:
    return max((value for value in values if value is not None), default=None)
