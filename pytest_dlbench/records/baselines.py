"""What is kept of a case's sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_dlbench.records.cases import Case, Context
from pytest_dlbench.records.versions import BASELINE_FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineSession:
    """What is kept of one session of a case.

    ``id`` is the time it was saved, in UTC and unique among the case's sessions. ``medians`` are over the runs, of
    every metric; ``values`` have every run's, in the order of the ``seeds``, of metrics that are judged run by run.
    ``accepted`` are metrics that had changed and were saved all the same: a new level begins here. ``commit`` is that
    of the repository that the benchmark lies in, empty where it is in none.
    """

    id: str
    saved: str
    reason: str
    commit: str = ""
    versions: Mapping[str, str]
    seeds: tuple[int, ...]
    medians: Mapping[str, float]
    values: Mapping[str, tuple[float, ...]]
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Accepted sessions of one case, oldest first; ``context`` holds for all of them, ``recipe`` is the newest one's.

    ``anchor`` is the session that later ones are also held against, and is never dropped.
    """

    format: int = BASELINE_FORMAT
    case: Case
    context: Context
    recipe: Mapping[str, Any]
    anchor: str
    sessions: tuple[BaselineSession, ...]
