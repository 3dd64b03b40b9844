"""Figures as text: three significant digits and a unit."""

import math
from collections.abc import Mapping

from pytest_dlbench.judging import METRICS, Metric, Metrics
from pytest_dlbench.records import RecurrentKernel, Verdict
from pytest_dlbench.records.reasons import CountChange, KernelsChanged


def significant(value: float, digits: int = 3) -> str:
    """A number with this many significant digits, without an exponent."""
    if not value or not math.isfinite(value):
        return f"{value:.0f}"
    # Rounded before its digits are counted: 9.996 has one before the point, 10.0 has two.
    rounded = float(f"{value:.{digits - 1}e}")
    places = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{value:,.{max(0, places)}f}"


def seconds(value: float) -> str:
    """A time in µs, ms or s."""
    for limit, unit, factor in ((1e-3, "µs", 1e6), (1.0, "ms", 1e3)):
        # Compared as it will be shown: 0.99996 ms is 1.00 ms, not 1,000 µs.
        if float(f"{abs(value):.2e}") < limit:
            return f"{significant(value * factor)} {unit}"
    return f"{significant(value)} s"


def figure(metric: str, value: float, metrics: Metrics = METRICS) -> str:
    """A metric's value with its unit, which is unknown for metrics of hooks that are not installed."""
    match metrics[metric].unit if metric in metrics else "":
        case "s":
            return seconds(value)
        case "bytes":
            return f"{value / 2**20:,.0f} MiB"
        case "share":
            return f"{100 * value:.2f} %"
        case "currency":
            # Only the user knows which one.
            return significant(value)
        case unit:
            return f"{significant(value)} {unit}".rstrip()


def side(metric: str, value: float | None, metrics: Metrics = METRICS) -> str:
    """One side of a verdict: its figure, or ``none``."""
    return "none" if value is None else figure(metric, value, metrics)


def subject(metric: Metric) -> str:
    """What a metric is of, within a sentence or where its heading would be too short: ``time of a step``."""
    return f"time of a {metric.timed}" if metric.timed else metric.heading


def bound(metric: str, value: float, metrics: Metrics = METRICS) -> str:
    """What is required of a metric: ``accuracy ≥ 90.00 %``, ``peak_rss ≤ 1,024 MiB``."""
    sign = "≥" if metric in metrics and metrics[metric].better == "higher" else "≤"
    return f"{metric} {sign} {figure(metric, value, metrics)}"


def cell(metric: str, value: float, metrics: Metrics = METRICS) -> str:
    """The same for a table cell: without the unit if the heading has it."""
    form = metrics[metric].cell if metric in metrics else ""
    return format(value, form) if form else figure(metric, value, metrics)


def change(verdict: Verdict, metrics: Metrics = METRICS) -> str:
    """A change with its interval: ``ratio 1.083 [1.061, 1.106]``, ``-2.31 pp [-2.90, -1.72]``."""
    shown = size(verdict.metric, verdict.change, metrics)
    if verdict.lower is None or verdict.upper is None:
        return f"{shown} [no interval]"
    if _kind(verdict.metric, metrics) == "points":
        return f"{shown} [{verdict.lower:+.2f}, {verdict.upper:+.2f}]"
    return f"{shown} [{verdict.lower:.3f}, {verdict.upper:.3f}]"


def size(metric: str, change: float | None, metrics: Metrics = METRICS) -> str:
    """A change alone: ``ratio 1.083``, ``-2.31 pp``."""
    if change is None:
        return "no change known"
    match _kind(metric, metrics):
        case "points":
            return f"{change:+.2f} pp"
        case "ratio":
            return f"ratio {change:.3f}"
        case _:
            return f"{change:.3f}"


def tolerance(verdict: Verdict, metrics: Metrics = METRICS) -> str:
    """A tolerance as it is typed: ``5%``, ``1pp``."""
    return amount(verdict.metric, verdict.tolerance, metrics)


def amount(metric: str, tolerance: float, metrics: Metrics = METRICS) -> str:
    """The same for a metric without a verdict."""
    match _kind(metric, metrics):
        case "points":
            return f"{tolerance:g}pp"
        case "ratio":
            return f"{100 * tolerance:g}%"
        case _:
            return f"{tolerance:g}"


def enough(metric: str, value: float, metrics: Metrics = METRICS) -> str:
    """A tolerance with two digits, rounded up so that it is enough: ``1.3%``, ``0.41pp``."""
    scale, unit = {"points": (1, "pp"), "ratio": (100, "%")}.get(_kind(metric, metrics), (1, ""))
    shown = scale * value
    step = 10.0 ** (math.floor(math.log10(shown)) - 1)
    # A value with two digits must not be rounded up because of binary fractions.
    rounded = step * math.ceil(shown / step - 1e-6)
    return f"{rounded:.12g}{unit}"


def _kind(metric: str, metrics: Metrics) -> str:
    """How changes of a metric are measured; empty for metrics of hooks that are not installed."""
    return metrics[metric].kind if metric in metrics else ""


def count(value: int) -> str:
    """A count in thousands (K), millions (M) or billions (G): ``2.29 M``; exact below a thousand."""
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "K")):
        if value >= limit:
            return f"{significant(value / limit)} {unit}"
    return str(value)


def counted(change: CountChange, metrics: Metrics = METRICS) -> str:
    """A count that changed, to the last digit: ``2 graph breaks, before 0``."""
    name = metrics[change.metric].heading if change.metric in metrics else change.metric
    return f"{change.candidate:,.0f} {name}, before {change.baseline:,.0f}"


KERNELS: Mapping[RecurrentKernel, str] = {
    "cudnn": "cuDNN",
    "onednn": "oneDNN",
    "fused": "fused",
    "scan": "scan",
    "unrolled": "unrolled",
    "loop": "loop",
}


def kernel_kinds(found: Mapping[str, RecurrentKernel]) -> str:
    """The kinds of kernels in a cell of a table: ``oneDNN``, ``scan``."""
    return ", ".join(dict.fromkeys(KERNELS[kind] for kind in found.values())) or "–"


def kernels(found: Mapping[str, RecurrentKernel]) -> str:
    """Kernels with their kinds: ``BlockLSTM (fused)``."""
    return ", ".join(f"{name} ({KERNELS[kind]})" for name, kind in found.items())


def changed_kernels(change: KernelsChanged) -> str:
    """``while (scan), before BlockLSTM (fused)``."""
    return f"{kernels(change.candidate)}, before {kernels(change.baseline)}"


def duration(seconds: float) -> str:
    """A waiting time, to the second; from an hour on, to the minute."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
