"""How much worse a metric may be: ``step_time:5%``, ``accuracy:1pp``."""

import re
from collections.abc import Iterable, Mapping

from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.judging.metrics import Metrics

UNITS = {"ratio": "%", "points": "pp"}


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
    value = float(number[1])
    if value <= 0:
        raise OptionError(f"{where}: the tolerance must be above 0, got {text!r}")
    return name, value / 100 if unit == "%" else value
