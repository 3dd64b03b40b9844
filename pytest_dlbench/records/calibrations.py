"""What the gate can detect in a case on one machine class."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_dlbench.records.cases import Case, Context
from pytest_dlbench.records.outcomes import VerdictOutcome
from pytest_dlbench.records.reasons import NotPlanted
from pytest_dlbench.records.results import Verdict
from pytest_dlbench.records.versions import CALIBRATION_FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault that was planted in the candidate of a case, and the gate's verdict.

    ``verdict`` is that of the metric in which it was planted, None if there is none; ``pairs`` are all pairs that
    the gate ran until every metric was decided, and ``reason`` names the ``sequential.Reason`` for which it ended
    there, with a sentence in format 1. ``not_planted`` says why it was not run, or could not be; ``outcome`` is None
    then. In files older than this field, ``reason`` has that as text.
    """

    name: str
    outcome: VerdictOutcome | None = None
    pairs: int = 0
    verdict: Verdict | None = None
    reason: str = ""
    not_planted: NotPlanted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the gate can detect in a case on one machine class: the case run against itself, then with planted faults.

    ``spreads`` are the expected standard deviations of a pair's difference, in the rule's unit: log units for times and
    bytes, percentage points for accuracy. ``smallest`` are the smallest tolerances at which the gate can decide at
    level ``alpha`` with ``max_pairs`` pairs, as tolerances are written: 0.03 for 3 %, 1.0 for 1 pp. ``verdicts`` are
    those of the case against itself that have bounds: each change among them is a false alarm. ``exchanged`` is the
    false-alarm rate when the sides of these pairs are swapped at random. ``design`` says whether the runs of a pair
    were back to back, or their steps alternated: the spreads of step times are of that design.
    """

    format: int = CALIBRATION_FORMAT
    case: Case
    context: Context
    versions: Mapping[str, str]
    date: str
    alpha: float
    max_pairs: int
    pairs: int
    spreads: Mapping[str, float]
    smallest: Mapping[str, float]
    verdicts: tuple[Verdict, ...]
    exchanged: Mapping[str, float]
    faults: tuple[Fault, ...] = ()
    design: Literal["sequential", "alternating"] = "sequential"
