"""The settings of the use cases, independent of where they come from (options or commands)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """How the cases of a session are judged, and the consequences."""

    tolerances: Mapping[str, float]
    """How much worse each metric may be, for tests without tolerances of their own."""
    false_alarms: float
    """The share of sessions without any change in which pairs may report some case as regressed."""
    max_pairs: int
    budget_seconds: float = inf
    """The time for all pairs together."""
    saves: bool = False
    """Whether measurements are saved as a session of the baseline; ``reason`` says why."""
    reason: str = ""
    accepts_gains: bool = False
    """Whether gains that are too good to be true are saved."""
    is_report_only: bool = False
    """Whether verdicts are reported but fail no test."""
    profiles: bool = False
    """Whether a regression in pairs is profiled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where a session stores its measurements and finds earlier ones. An empty ``history`` means none."""

    baselines: Path
    journals: Path
    history: str = ""
