"""What was concluded about a case."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_dlbench.records.cases import Case
from pytest_dlbench.records.equivalence import Certificate
from pytest_dlbench.records.kernels import RecurrentKernel
from pytest_dlbench.records.outcomes import CaseOutcome, VerdictOutcome
from pytest_dlbench.records.reasons import Caution, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One metric compared with its baseline.

    ``old`` and ``new`` are None for a side none of whose runs has the metric.
    ``change``, with its interval from ``lower`` to ``upper``, is a ratio new / old for ratio metrics (1.0 is no change)
    and a difference new - old in percentage points for accuracy (0.0 is no change). Each is None if unknown: too few
    pairs set no bounds. ``tolerance`` is 0.05 for 5 % and 1.0 for 1 pp. ``sessions`` is the number of stored sessions
    it was compared with, 0 if runs were compared with runs. ``is_corrected`` says that each session's machine speed
    was factored out; ``old`` is then the value expected at the machine's present speed. ``decides`` is False for a
    metric that is only reported: the outcome of the case does not depend on it. ``is_of_cpu`` says that the
    change is that of processor time, which decided where wall time did not; ``old`` and ``new`` stay wall times.
    """

    metric: str
    outcome: VerdictOutcome
    old: float | None
    new: float | None
    change: float | None
    lower: float | None
    upper: float | None
    tolerance: float
    sessions: int = 0
    is_corrected: bool = False
    decides: bool = True
    is_of_cpu: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How a case was run on two sides, pair by pair.

    ``old`` is the baseline's case. The first ``screened`` pairs are those until a change was found that the next
    ``confirmed`` ones had to confirm; ``alpha`` is the error rate of confirmations and of decisions at once, their part
    of the session's false-alarm rate. ``new_first`` says for each pair whether the candidate ran first, drawn with
    ``order_seed`` (-1 in files older than this field). ``reasons`` name the ``sequential.Reason`` for which each metric
    was decided when it was; in formats 1 and 2 they are sentences. ``spreads`` are the expected differences between
    consecutive runs (standard deviations in log units, or points), measured in ``reference_runs`` runs of an earlier
    session, or assumed or calibrated if that is 0. ``is_aa`` marks an A/A test: both sides had the same versions of
    everything, and any change is a false alarm.
    ``design`` says whether the runs of a pair were back to back, or their steps alternated; the spread of step times is
    then that of such pairs, measured in ``step_pairs`` earlier ones; if that is 0 it is assumed, or less if the
    ``reference_runs`` differ by less.
    """

    old: Case
    screened: int
    confirmed: int
    alpha: float
    new_first: tuple[bool, ...]
    reasons: Mapping[str, str]
    spreads: Mapping[str, float] = field(default_factory=dict)
    reference_runs: int = 0
    is_aa: bool = False
    order_seed: int = -1
    design: Literal["sequential", "alternating"] = "sequential"
    step_pairs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTime:
    """Seconds per step in one operator, of baseline and candidate, under the framework's own profiler."""

    name: str
    old: float
    new: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """A case as it is reported.

    ``reasons`` explain the outcome, ``cautions`` why the figures may mislead. ``steps`` and ``recipe_steps`` are those
    of its context. With a ``pairing``, it was compared with the other side in this session, and ``runs`` counts its own
    runs only. ``since_anchor`` compares it with the reference session of its baseline; ``drifting`` are metrics that
    have drifted, with the number of sessions since the drift began. ``operators`` are those that changed most, if a
    regression was profiled. ``recurrent_kernels`` are those on which all runs agree; empty without such layers, and in
    files older than this field.

    ``message``, ``settled_by`` (the command that would settle a suspicion) and ``warnings`` are text: in files older
    than the reasons, and in documents, for readers that do not render reasons. Empty elsewhere.
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
    recurrent_kernels: Mapping[str, RecurrentKernel] = field(default_factory=dict)
