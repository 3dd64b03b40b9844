"""Stored baselines: the accepted sessions of a case."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_dlbench.records.cases import Case, Context
from pytest_dlbench.records.kernels import RecurrentKernel
from pytest_dlbench.records.versions import BASELINE_FORMAT, BASELINE_WITHOUT_CHECKSUM


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineSession:
    """One accepted session of a case.

    ``id`` is the time at which it was saved, in UTC, unique among the case's sessions. ``medians`` are over the runs,
    for every metric; ``values`` are those of every run, in the order of ``seeds``, for metrics that are judged run by
    run. ``accepted`` lists metrics that had changed and were saved nevertheless: a new level starts here. ``commit`` is
    that of the benchmark's repository, empty if there is none. ``recurrent_kernels`` are those on which all runs agree.
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
    recurrent_kernels: Mapping[str, RecurrentKernel] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Accepted sessions of one case, oldest first, all with the same ``context``; ``recipe`` is the newest session's.

    ``anchor`` is the reference session: later ones are also compared with it, and it is never dropped. A file also has
    a ``checksum`` of all this: the first 16 hexadecimal digits of the SHA-256 of its content as sorted JSON.
    ``format`` is that of the file it was read from; every file is written in the current one.
    """

    format: int = BASELINE_FORMAT
    case: Case
    context: Context
    recipe: Mapping[str, Any]
    anchor: str
    sessions: tuple[BaselineSession, ...]

    @property
    def has_checksum(self) -> bool:
        """Whether a figure that it lacks was never there, because the checksum shows deleted ones."""
        return self.format > BASELINE_WITHOUT_CHECKSUM
