"""Resource usage of a worker's process tree and its GPUs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# The only throttling reason that is harmless.
POWER_LIMIT = "power limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUsage:
    """One GPU during one phase; None is what it does not report, and ``absent`` says why.

    ``energy_source`` is "counter", or "integrated power" if the GPU has no counter. ``slowed_shares`` has each of
    ``slowed_by`` with the share of the samples that it was in, and is empty in files older than this field.
    """

    name: str
    uuid: str
    utilisation: float | None = None
    utilisation_peak: float | None = None
    memory_peak_bytes: int | None = None
    process_memory_peak_bytes: int | None = None
    power_mean_watts: float | None = None
    energy_joules: float | None = None
    energy_source: str = ""
    temperature_peak_celsius: float | None = None
    sm_clock_mean_mhz: float | None = None
    slowed_by: tuple[str, ...] = ()
    slowed_shares: Mapping[str, float] = field(default_factory=dict)
    foreign_processes: int | None = None
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Resource usage of the worker's process tree during one phase.

    All except memory are differences of cumulative counters between the ends of the phase;
    docs/reference/measurements.md has the meaning, the source and the error of every field. A phase that others
    interrupt, as evaluations do training, is the sum of its parts.
    CPU means are in processors: 1.0 is one processor, all the time. ``readings`` are values of further samplers, by
    name. None means that this kernel does not report it, or that the file is older than the field.
    """

    wall_seconds: float
    user_seconds: float
    system_seconds: float
    rss_mean_bytes: int
    rss_peak_bytes: int
    samples: int
    foreign_cpus: float = 0.0
    began_seconds: float | None = None
    waited_seconds: float | None = None
    iowait_cpus: float | None = None
    steal_cpus: float | None = None
    core_use: tuple[float, ...] = ()
    load: float | None = None
    involuntary_switches: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    swapped_in_bytes: int | None = None
    throttlings: int | None = None
    pss_mean_bytes: int | None = None
    pss_peak_bytes: int | None = None
    group_peak_bytes: int | None = None
    file_peak_bytes: int | None = None
    gpus: tuple[GpuUsage, ...] = ()
    readings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A thinned time series of the worker's process tree during a run: one value of each at every time.

    ``seconds`` are since the start of the run; ``cpu_seconds`` is the tree's processor time until then;
    ``machine_seconds`` is the busy time of all processors since the start, for all processes, empty in files older than
    this field.
    """

    seconds: tuple[float, ...] = ()
    rss_bytes: tuple[int, ...] = ()
    cpu_seconds: tuple[float, ...] = ()
    machine_seconds: tuple[float, ...] = ()
