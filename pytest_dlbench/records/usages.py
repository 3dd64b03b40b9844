"""What a worker's process tree, and the cards that it had, used."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Among the reasons why a card is slowed, the one that is no trouble.
POWER_LIMIT = "power limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUsage:
    """One graphics card during one phase; None is what it does not tell, and ``absent`` says why.

    ``energy_source`` is "counter", or "integrated power" where the card has no counter.
    """

    name: str
    uuid: str
    utilisation: float | None = None
    memory_peak_bytes: int | None = None
    process_memory_peak_bytes: int | None = None
    power_mean_watts: float | None = None
    energy_joules: float | None = None
    energy_source: str = ""
    temperature_peak_celsius: float | None = None
    sm_clock_mean_mhz: float | None = None
    slowed_by: tuple[str, ...] = ()
    foreign_processes: int | None = None
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the worker's process tree used during one phase.

    All but memory is a difference of cumulative counters at the phase's ends; docs/reference/measurements.md has the
    meaning, the source and the error of every field. A phase that others interrupt, as evaluations do training, is all
    its parts.
    Means of CPUs are processors: 1.0 is one of them, all the time. ``readings`` are what further samplers tell, by
    name. None is what this kernel does not tell, or a file older than the field.
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
    gpus: tuple[GpuUsage, ...] = ()
    readings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What was seen of the worker's process tree during a run, thinned: one value of each at every moment.

    ``seconds`` are since the start of the run, ``cpu_seconds`` all that the tree has used by then, ``machine_seconds``
    all that the machine's processors have worked since that start, for whomever; none in files older than this field.
    """

    seconds: tuple[float, ...] = ()
    rss_bytes: tuple[int, ...] = ()
    cpu_seconds: tuple[float, ...] = ()
    machine_seconds: tuple[float, ...] = ()
