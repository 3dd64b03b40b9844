"""How much worse a metric may be: ``step_time:5%``, ``accuracy:1pp``."""

import re
from collections.abc import Iterable, Mapping
from math import inf

from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics

UNITS = {"ratio": "%", "points": "pp"}
# What a gate can still fail on: eleven times as long, and not one right answer left.
LARGEST = {"ratio": 10.0, "points": 100.0}
LONGEST_SHOWN = 40


def parse_tolerances(texts: Iterable[str], where: str, metrics: Metrics) -> Mapping[str, float]:
    """Tolerances by metric: the defaults, overridden by the texts. 0.05 is 5 %, 1.0 is 1 pp."""
    defaults = {name: metric.tolerance for name, metric in metrics.items() if metric.tolerance is not None}
    return {**defaults, **given_tolerances(texts, where, metrics)}


def given_tolerances(texts: Iterable[str], where: str, metrics: Metrics) -> Mapping[str, float]:
    """Only the tolerances in the texts. Raises OptionError."""
    return dict(_parse(text, where, metrics) for text in texts)


def asked_for(tolerances: Mapping[str, float], metrics: Metrics) -> Mapping[str, float]:
    """The tolerances that differ from the defaults."""
    return {name: amount for name, amount in tolerances.items() if amount != metrics[name].tolerance}


def _parse(text: str, where: str, metrics: Metrics) -> tuple[str, float]:
    name, colon, amount = text.partition(":")
    if not colon:
        raise OptionError(f"{where}: expected METRIC:AMOUNT such as step_time:5%, got {text!r}")
    if name not in metrics:
        raise OptionError(unknown_name("metric", name, where, metrics))
    unit = UNITS[metrics[name].kind]
    number = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(.*)", amount.strip())
    if not number:
        raise OptionError(f"{where}: expected an amount such as {name}:5{unit}, got {text!r}")
    if number[2] != unit:
        found = f"unknown unit {number[2]!r}" if number[2] else "a unit is missing"
        raise OptionError(f"{where}: {found} in {text!r}; {name} is judged in {unit}: {name}:{number[1]}{unit}")
    value = float(number[1]) / (100 if unit == "%" else 1)
    if not 0 < value <= LARGEST[metrics[name].kind]:
        found = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
        raise OptionError(f"{where}: expected a tolerance {allowed(metrics[name])}, got {found!r}")
    return name, value


def allowed(metric: Metric) -> str:
    """The range of a metric's tolerances, as text."""
    largest = LARGEST[metric.kind] * (100 if metric.kind == "ratio" else 1)
    return f"above 0 and up to {largest:g}{UNITS[metric.kind]}"


def check_declared(metric: Metric, where: str) -> None:
    """Raise OptionError for a metric of a hook or a mark whose tolerance or spread would let everything pass."""
    spreads = {
        "run_sd": metric.run_sd,
        "session_sd": metric.session_sd,
        "smallest_spread": metric.smallest_spread or 0.0,
    }
    where = f"{where}: the metric {metric.name!r}"
    # Not the other way round: comparisons with NaN are false.
    if metric.tolerance is not None and not 0 < metric.tolerance <= LARGEST[metric.kind]:
        right = "0.05 is 5%" if metric.kind == "ratio" else "1.0 is 1pp"
        raise OptionError(f"{where}: expected a tolerance {allowed(metric)} ({right}), got {metric.tolerance}")
    if not 0 <= metric.least_change < inf:
        raise OptionError(f"{where}: expected a least_change of 0 {metric.unit} or more, got {metric.least_change}")
    if metric.least_change and metric.kind != "ratio":
        raise OptionError(f"{where}: a least_change is a share of the baseline's figure; {metric.kind} have none")
    for name, spread in spreads.items():
        if not 0 <= spread <= LARGEST[metric.kind]:
            raise OptionError(f"{where}: expected {name} from 0 to {LARGEST[metric.kind]:g}, got {spread}")
