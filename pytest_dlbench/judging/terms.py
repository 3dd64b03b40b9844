"""The terms of a case in pairs: what is judged, with which tolerances, and how much its figures differ as expected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.pairs import (
    ALTERNATING_SPREAD,
    REFERENCE_RUNS,
    STEP_TIMES,
    TIMES,
    StepSpread,
    reference_spread,
    reference_values,
    reported,
    widest,
)
from pytest_dlbench.judging.power import too_narrow
from pytest_dlbench.judging.scales import smallest_spread
from pytest_dlbench.records import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is judged, with at most how many pairs per pass: tolerances and reference spreads by metric.

    ``reported`` are tolerances of metrics that are reported and do not decide. ``defaults`` are the metrics that are
    judged by their default tolerance only: they do not decide if their own spread is too wide for it. ``metrics`` are
    all metrics of the session.

    The spreads are measured in ``reference_runs`` consecutive runs; if that is 0 they are assumed, but at least the
    ``calibrated`` ones from ``dlbench calibrate``. Where ``alternates``, the steps of a pair do, and step times are
    judged with ``step_spread``, which ``step_pairs`` earlier pairs of that design showed; if that is 0 it is assumed,
    but no more than that of the reference runs, since what a machine does from run to run adds to theirs.

    ``at_once`` is the level at which times may be decided at once, 0 if they may not. ``widest`` is how far the
    reference runs of a metric are apart, where there are enough of them.
    """

    tolerances: Mapping[str, float]
    metrics: Metrics
    max_pairs: int
    spreads: Mapping[str, float]
    reference_runs: int = 0
    calibrated: Mapping[str, float] = field(default_factory=dict)
    reported: Mapping[str, float] = field(default_factory=dict)
    defaults: frozenset[str] = frozenset()
    alternates: bool = False
    step_spread: float = ALTERNATING_SPREAD
    step_pairs: int = 0
    at_once: float = 0.0
    widest: Mapping[str, float] = field(default_factory=dict)

    def spread(self, name: str) -> float:
        """The expected spread of a metric in these pairs."""
        return self.step_spread if self.alternates and name in STEP_TIMES else self.spreads[name]

    def apart(self, name: str) -> float:
        """How far the reference runs of a time are apart, which bounds what processes differ by; inf if not known."""
        is_of_steps = self.alternates and name in STEP_TIMES
        return self.widest.get(STEP_TIMES[0] if is_of_steps else name, inf)


def terms_of(
    tolerances: Mapping[str, float],
    max_pairs: int,
    reference: Sequence[Run],
    metrics: Metrics,
    calibrated: Mapping[str, float] | None = None,
    *,
    defaults: frozenset[str] = frozenset(),
    steps: StepSpread | None = None,
) -> Terms:
    """The terms, with spreads measured in the reference if it has enough runs of a metric.

    A calibration may be from a quieter day: without a reference it can widen the assumed spread, but never narrow it.
    ``steps`` is the spread of step times in pairs whose steps alternate, None if these do not. Raises DlbenchError for
    a reference with a figure that cannot be compared.
    """
    known = {} if reference or not calibrated else calibrated
    alongside = reported(tolerances)
    spreads = {
        name: max(reference_spread(metrics[name], reference_values(metrics[name], reference)), known.get(name, 0.0))
        for name in (*tolerances, *alongside)
    }
    return Terms(
        tolerances=tolerances,
        metrics=metrics,
        max_pairs=max_pairs,
        spreads=spreads,
        reference_runs=len(reference),
        calibrated={name: spread for name, spread in known.items() if name in tolerances},
        reported=alongside,
        defaults=defaults,
        alternates=steps is not None,
        step_spread=_step_spread(steps or StepSpread(), spreads.get(STEP_TIMES[0]) if reference else None),
        step_pairs=steps.pairs if steps else 0,
        widest=_widest([metrics[name] for name in TIMES if name in tolerances], reference),
    )


def _widest(times: Sequence[Metric], reference: Sequence[Run]) -> dict[str, float]:
    """How far the reference runs of these metrics are apart, if there are enough, and all of them have the metric."""
    found = {metric: reference_values(metric, reference) for metric in times}
    return {
        metric.name: widest(metric, values)
        for metric, values in found.items()
        if len(values) == len(reference) >= REFERENCE_RUNS
    }


def _step_spread(steps: StepSpread, of_runs: float | None) -> float:
    return steps.spread if steps.pairs or of_runs is None else min(steps.spread, of_runs)


def narrow(terms: Terms) -> dict[str, float]:
    """The smallest tolerance that the pairs can resolve, for each metric whose own is below it.

    An assumed spread makes no tolerance too narrow: without a reference, the calibrated spread counts, or else the
    smallest spread of any machine.
    """
    least = {name: smallest_spread(terms.metrics[name]) for name in terms.tolerances}
    spreads = dict(terms.spreads if terms.reference_runs else {**least, **terms.calibrated})
    if terms.alternates:
        steps = {name: terms.step_spread if terms.step_pairs else least[name] for name in STEP_TIMES if name in least}
        spreads.update(steps)
    return too_narrow(terms.tolerances, spreads, terms.metrics, terms.max_pairs)
