"""Graphics cards during a phase: what any vendor's library tells at one moment becomes the figures of the phase."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Protocol, TypeVar

from pytest_dlbench.records import GpuUsage

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """A card at one moment; None is what it does not tell.

    ``joules`` count since the driver was loaded, ``utilisation`` is a share of 1, ``process_bytes`` are by process id
    and None for one whose memory is not told. ``slowed_by`` are the reasons why the card runs slower than it could.
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


class Card(Protocol):
    """One card, as a library of its vendor knows it: NVML's is nvml.py, another vendor's is a sibling of that."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    @property
    def uuid(self) -> str:
        """Which of all cards it is."""
        ...

    @property
    def absent(self) -> Mapping[str, str]:
        """What the card does not tell, and why."""
        ...

    def read(self) -> GpuReading:
        """Everything now."""
        ...


@dataclass(slots=True)
class GpuSampler:
    """Reads the cards of a run. ``pids`` gives the worker's processes."""

    cards: Sequence[Card]
    pids: Callable[[], Iterable[int]]
    _readings: list[list[GpuReading]] = field(default_factory=list)

    def begin(self) -> None:
        """Start a phase."""
        self._readings = [[card.read()] for card in self.cards]

    def sample(self) -> None:
        """Read every card."""
        for card, readings in zip(self.cards, self._readings, strict=True):
            readings.append(card.read())

    def end(self) -> tuple[GpuUsage, ...]:
        """Stop the phase."""
        self.sample()
        ours = frozenset(self.pids())
        pairs = zip(self.cards, self._readings, strict=True)
        return tuple(usage(card, readings, ours) for card, readings in pairs)


def usage(card: Card, readings: Sequence[GpuReading], ours: frozenset[int]) -> GpuUsage:
    """What these readings, two or more, say of a phase."""
    joules, source = energy(readings)
    foreign = None if (told := _seen(readings, ours)) is None else len(told - ours)
    return GpuUsage(
        name=card.name,
        uuid=card.uuid,
        utilisation=_mean(reading.utilisation for reading in readings),
        memory_peak_bytes=_peak(reading.memory_bytes for reading in readings),
        process_memory_peak_bytes=_peak(_process_bytes(reading, ours) for reading in readings),
        power_mean_watts=_mean(reading.watts for reading in readings),
        energy_joules=joules,
        energy_source=source,
        temperature_peak_celsius=_peak(reading.celsius for reading in readings),
        sm_clock_mean_mhz=_mean(reading.sm_mhz for reading in readings),
        slowed_by=tuple(sorted({reason for reading in readings for reason in reading.slowed_by})),
        foreign_processes=foreign,
        absent=dict(card.absent),
    )


def energy(readings: Sequence[GpuReading]) -> tuple[float | None, str]:
    """Joules of a phase and where they come from: the card's counter, else power integrated by trapezoids."""
    first, last = readings[0], readings[-1]
    if first.joules is not None and last.joules is not None:
        return last.joules - first.joules, "counter"
    known = [(reading.seconds, reading.watts) for reading in readings if reading.watts is not None]
    if len(known) < 2:
        return None, ""
    return sum((late - early) * (one + two) / 2 for (early, one), (late, two) in pairwise(known)), "integrated power"


def _seen(readings: Sequence[GpuReading], ours: frozenset[int]) -> frozenset[int] | None:
    """All processes that were on the card; None where ours are not among them: then ids are of another namespace."""
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
