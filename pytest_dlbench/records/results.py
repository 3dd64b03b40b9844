"""What was concluded of a case."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_dlbench.records.cases import Case
from pytest_dlbench.records.equivalence import Certificate
from pytest_dlbench.records.outcomes import CaseOutcome, VerdictOutcome
from pytest_dlbench.records.reasons import Caution, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One metric against its baseline.

    ``change`` with its interval ``lower`` to ``upper`` is a ratio new / old for ratio metrics (1.0 is no change) and a
    difference new - old in percentage points for accuracy (0.0 is no change), each None where there is no such figure:
    too few pairs set no bounds. ``tolerance`` is 0.05 for 5 % and 1.0 for 1 pp. ``sessions`` are the stored ones that
    it was judged against as such, 0 where runs were compared with runs. ``is_corrected`` says that the machine's own
    speed in each session was taken out; ``old`` is then what it would be on the machine as it is now.
    """

    metric: str
    outcome: VerdictOutcome
    old: float
    new: float
    change: float | None
    lower: float | None
    upper: float | None
    tolerance: float
    sessions: int = 0
    is_corrected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How a case was run on two sides, one pair of runs after the other.

    ``old`` is the case of the other side. The first ``screened`` pairs were judged on all metrics, the ``confirmed``
    ones behind them on those that were not cleared; ``alpha`` is what this second pass may err with, its part of the
    session's budget of false alarms. ``new_first`` says of each pair which side ran first, ``reasons`` why each metric
    was decided when it was. ``spreads`` are how far two runs in a row were expected to lie apart (log units, or
    points), measured in ``reference_runs`` of an earlier session, or assumed or calibrated where these are 0.
    """

    old: Case
    screened: int
    confirmed: int
    alpha: float
    new_first: tuple[bool, ...]
    reasons: Mapping[str, str]
    spreads: Mapping[str, float] = field(default_factory=dict)
    reference_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTime:
    """Seconds a step in one operator, on the old and the new side, under the framework's own profiler."""

    name: str
    old: float
    new: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """A case as it is reported.

    ``reasons`` say why the outcome is what it is, ``cautions`` why its figures may mislead. ``steps`` and
    ``recipe_steps`` are those of its context. With a ``pairing`` it was judged against another side of this session,
    and ``runs`` are its own only. ``since_anchor`` holds it against the reference session of its baseline; ``drifting``
    are metrics that have drifted, with the sessions since it began. ``operators`` are those that changed most, where a
    regression was profiled.

    ``message``, ``settled_by`` (the command that would settle a suspicion) and ``warnings`` are text: of files that are
    older than the reasons, and of documents, for readers that make no sentences of their own. Empty elsewhere.
    """

    case: Case
    outcome: CaseOutcome
    runs: int
    figures: Mapping[str, float]
    verdicts: tuple[Verdict, ...] = ()
    since_anchor: tuple[Verdict, ...] = ()
    drifting: Mapping[str, int] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    cautions: tuple[Caution, ...] = ()
    message: str = ""
    settled_by: str = ""
    warnings: tuple[str, ...] = ()
    saved: bool = False
    certificate: Certificate | None = None
    steps: int | None = None
    recipe_steps: int | None = None
    pairing: Pairing | None = None
    operators: tuple[OperatorTime, ...] = ()
