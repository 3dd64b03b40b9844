"""What the gate can tell of a case on one machine class."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dlbench.records.cases import Case, Context
from pytest_dlbench.records.outcomes import VerdictOutcome
from pytest_dlbench.records.reasons import NotPlanted
from pytest_dlbench.records.results import Verdict
from pytest_dlbench.records.versions import FORMAT_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault that was planted on the new side of a case, and what the gate said of it.

    ``verdict`` is of the metric that it was planted in, None where the gate said nothing; ``pairs`` are all that
    the gate ran until every metric was decided, and ``reason`` says why it ended there. ``not_planted`` says why it was
    not run, or could not be; ``outcome`` is None then. In files older than this field ``reason`` has that, as text.
    """

    name: str
    outcome: VerdictOutcome | None = None
    pairs: int = 0
    verdict: Verdict | None = None
    reason: str = ""
    not_planted: NotPlanted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the gate can tell of one case on one machine class: the case run against itself, then with planted faults.

    ``spreads`` are the standard deviations that a pair's difference is expected to have, in the unit the rule works in:
    log units of times and bytes, percentage points of accuracy. ``smallest`` are the tolerances from which the gate can
    decide at the level ``alpha`` with ``max_pairs`` pairs, as a tolerance is written: 0.03 for 3 %, 1.0 for 1 pp.
    ``verdicts`` are those of the case against itself that have bounds: any that says changed is a false alarm.
    ``exchanged`` is their share where the sides of these pairs are exchanged at random.
    """

    format: int = FORMAT_VERSION
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
