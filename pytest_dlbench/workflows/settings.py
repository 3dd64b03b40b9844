"""What the use cases are asked for: small parts of what a user may set, from wherever it comes."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """By what the cases of a session are judged, and what follows from that."""

    tolerances: Mapping[str, float]
    """How much worse a metric may be, of tests that have no other tolerances."""
    false_alarms: float
    """The share of sessions without any change in which pairs may call some case regressed."""
    max_pairs: int
    budget_seconds: float = inf
    """The time for all pairs."""
    saves: bool = False
    """Whether what was measured becomes a session of the baseline, because of ``reason``."""
    reason: str = ""
    is_report_only: bool = False
    """Whether no judgement fails anything."""
    profiles: bool = False
    """Whether a regression of pairs is profiled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where a session keeps what it measures, and finds what others measured. There is no history where it is empty."""

    baselines: Path
    journals: Path
    history: str = ""
