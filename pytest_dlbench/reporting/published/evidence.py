"""A comparison of two cases, or of one with a limit, in a sentence: what both share, and in what they differ."""

from collections.abc import Iterator
from math import inf, isfinite

from pytest_dlbench.judging import METRICS, Metric
from pytest_dlbench.judging.claim_cases import Axis, Observed
from pytest_dlbench.judging.claim_rules import Compared, Range
from pytest_dlbench.judging.claims import Comparison
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.published.names import title

AXES: dict[Axis, str] = {
    "batch_size": "batch size",
    "learning_rate": "learning rate",
    "epochs": "number of epochs",
    "threads": "number of threads",
    "workers": "number of workers",
    "device": "device",
}


def sentence(one: Comparison) -> str:
    """What is compared, the interval, and where it must be."""
    metric = METRICS[one.metric]
    unit = {"ratio": "", "points": " points" if one.compared.other else " %"}[metric.kind]
    design = f" in {one.pairs} pairs" if one.pairs else ""
    settled = ", which pairs decide" if one.is_settled else ""
    what = f"{_name(metric)} on {_cases(metric, one.compared)}"
    return f"{what}: {_span(one.interval)}{unit}{design}; must be {_range(one.within)}{settled}"


def _name(metric: Metric) -> str:
    return f"{metric.timed} time" if metric.timed else metric.heading


def _cases(metric: Metric, compared: Compared) -> str:
    """The network and what both sides share, then the sides."""
    one, other, axis = compared.one, compared.other, compared.axis
    shared = f"{one.case.model} ({', '.join(_facts(one, axis))})"
    if other is None:
        return f"{shared} in {title(one.case.framework)}"
    sign = "/" if metric.kind == "ratio" else "-"
    frameworks = f"{title(one.case.framework)} {sign} {title(other.case.framework)}"
    if axis is None:
        return f"{shared}, {frameworks}"
    values = f"{AXES[axis]} {_value(axis, compared.values[0])} {sign} {_value(axis, compared.values[1])}"
    if one.case.framework == other.case.framework:
        return f"{shared} in {title(one.case.framework)}, {values}"
    return f"{shared}, {values}, {frameworks}"


def _facts(one: Observed, axis: Axis | None) -> Iterator[str]:
    """The data set and the conditions, except for the one that differs."""
    case, batch = one.case, one.context.batch_size
    yield case.dataset
    if axis != "device":
        if case.device != "cpu":
            yield case.device.upper()
        elif axis != "threads":
            yield f"{case.threads} thread{'s' * (case.threads != 1)}"
    if case.workers != 1 and axis != "workers":
        yield f"{case.workers} workers"
    if batch and axis != "batch_size":
        yield f"batch {batch:,}"
    for name, value in case.settings.items():
        if name not in ("batch_size", axis):
            yield f"{name.replace('_', ' ')} {value}"
    yield f"scale {case.scale}"
    yield from one.context.machine.gpus[:1] if case.device == "gpu" else (one.context.machine.cpu_model,)


def _value(axis: Axis, value: float) -> str:
    if axis == "device":
        return "GPU" if value else "processors"
    # Learning rates may be smaller than 0.0001.
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def _span(found: Interval) -> str:
    return f"{significant(found.estimate)} [{significant(found.lower)}, {significant(found.upper)}]"


def _range(within: Range) -> str:
    lower = "" if within.lower in (-inf, 0.0) and isfinite(within.upper) else f"above {within.lower:.4g}"
    upper = "" if within.upper == inf else f"below {within.upper:.4g}"
    return " and ".join(part for part in (lower, upper) if part)
