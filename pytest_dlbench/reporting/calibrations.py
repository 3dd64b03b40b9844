"""A calibration as text: what the gate can detect for a case on this machine."""

from collections.abc import Iterator, Mapping

from pytest_dlbench.judging import Metric, Metrics
from pytest_dlbench.judging.scales import limit, tolerance_at
from pytest_dlbench.records import Calibration, Fault, VerdictOutcome
from pytest_dlbench.reporting import explain, figures

CHANGED = (VerdictOutcome.REGRESSED, VerdictOutcome.IMPROVED)


def lines(found: Calibration, tolerances: Mapping[str, float], metrics: Metrics) -> Iterator[str]:
    """The case, its false alarms, the tolerances that can be resolved, and the planted faults."""
    alarms = [one.metric for one in found.verdicts if one.decides and one.outcome in CHANGED]
    yield found.case.id
    summary = f"called changed: {', '.join(alarms)}" if alarms else "none called changed"
    yield f"  against itself, {found.pairs} pairs, {len(found.spreads)} metrics: {summary}"
    yield f"  {'metric':<17}{'pairs differ by':>16}{'tolerance from':>16}{'yours':>8}{'false alarms *':>16}"
    for name, spread in found.spreads.items():
        metric, least = metrics[name], amount(metrics[name], found.smallest[name])
        yours = "–" if (own := _own(found, metric, tolerances)) is None else amount(metric, own)
        alarm = f"{100 * found.exchanged[name]:.2f} %"
        yield (
            f"  {name:<17}{_spread(metric, spread):>16}{least:>16}{yours:>8}{alarm:>16}"
            f"{'  too narrow' if is_too_narrow(found, metric, tolerances) else ''}"
        )
    if found.faults:
        yield f"  {'planted':<24}{'gate':<14}{'pairs':>5}  what it saw"
    yield from (f"  {fault.name:<24}{_fault(fault)}" for fault in found.faults)


def is_too_narrow(found: Calibration, metric: Metric, tolerances: Mapping[str, float]) -> bool:
    """Whether a tolerance is below what can be resolved."""
    own = _own(found, metric, tolerances)
    return own is not None and limit(metric, own) < limit(metric, found.smallest[metric.name])


def _own(found: Calibration, metric: Metric, tolerances: Mapping[str, float]) -> float | None:
    """The tolerance of a metric at the figures of this calibration; None if it has none."""
    if metric.name not in tolerances:
        return None
    old = next((verdict.old for verdict in found.verdicts if verdict.metric == metric.name), None)
    return tolerance_at(metric, tolerances[metric.name], old or 0.0)


def amount(metric: Metric, tolerance: float) -> str:
    """A tolerance as it is typed, rounded up to one decimal."""
    is_points = metric.kind == "points"
    tenths = -int(-10 * (tolerance if is_points else 100 * tolerance) // 1)
    return f"{tenths / 10:g}{'pp' if is_points else '%'}"


def _spread(metric: Metric, spread: float) -> str:
    return f"{spread:.2f} pp" if metric.kind == "points" else f"{100 * spread:.2f} %"


def _fault(fault: Fault) -> str:
    if fault.outcome is None:
        problem = explain.brief(fault.not_planted) if fault.not_planted else fault.reason.partition("\n")[0]
        return f"{'–':<14}{'–':>5}  {problem}"
    if fault.verdict is None:
        return f"{fault.outcome:<14}{fault.pairs:>5}  {explain.stopped(fault.reason)}"
    verdict = fault.verdict
    shown = f"{verdict.metric}, {figures.change(verdict)} at a tolerance of {figures.tolerance(verdict)}"
    return f"{fault.outcome:<14}{fault.pairs:>5}  {shown}"
