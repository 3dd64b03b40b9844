"""A series of samples, thinned to what a chart needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dlbench.records import Timeline

MAX_SAMPLES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The process tree at one moment, in seconds since the start of the run."""

    seconds: float
    rss_bytes: int
    cpu_seconds: float
    machine_seconds: float


def thinned(samples: Sequence[Sample], limit: int = MAX_SAMPLES) -> Timeline:
    """At most ``limit`` moments: neighbours are merged, keeping the last moment and the highest memory."""
    size = max(1, -(-len(samples) // limit))
    groups = [samples[first : first + size] for first in range(0, len(samples), size)]
    return Timeline(
        seconds=tuple(round(group[-1].seconds, 4) for group in groups),
        rss_bytes=tuple(max(sample.rss_bytes for sample in group) for group in groups),
        cpu_seconds=tuple(round(group[-1].cpu_seconds, 3) for group in groups),
        machine_seconds=tuple(round(group[-1].machine_seconds, 3) for group in groups),
    )
