"""The mark ``dlbench``: tolerances of a test, a class or a module, where its programs run, what else they report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import Metric, Metrics, given_tolerances
from pytest_dlbench.judging.metric import View
from pytest_dlbench.options import Options
from pytest_dlbench.options.reading import TOLERANCE
from pytest_dlbench.planning.registry import Registry

LINE = (
    'dlbench(tolerance, environment, metrics): how much worse metrics may be, such as tolerance={"step_time": "3%"},'
    " where programs run, such as environment='requirements.txt', and what else they report, such as"
    ' metrics=[Metric(name="tokens", unit="tokens", better="higher", tolerance=0.05)]'
)
KNOWN = {"tolerance", "environment", "metrics"}
RIGHT = '@pytest.mark.dlbench(tolerance={"step_time": "3%", "accuracy": "0.5pp"})'
RIGHT_METRICS = 'metrics=[Metric(name="tokens", unit="tokens", better="higher", tolerance=0.05)]'
# Of a metric that a test declares, and that says nothing else.
VIEWS: tuple[View, ...] = ("table", "page", "history")


def tolerances(node: pytest.Item, asked: Options, metrics: Metrics) -> Mapping[str, float]:
    """By metric: from the ini file, then the marks of module, class and function, then the command line.

    Later ones win, metric by metric. A metric that a mark declares has its own, unless a mark gives another one. Raises
    OptionError with the place of a malformed mark.
    """
    own = declared(node)
    found = {**asked.tolerance, **{name: one.tolerance for name, one in own.items() if one.tolerance is not None}}
    for owner, mark in reversed(list(node.iter_markers_with_node("dlbench"))):
        found.update(_of_mark(mark, f"the mark dlbench of {owner.nodeid}", {**metrics, **own}))
    later = [text for text in asked.later_tolerance if text.partition(":")[0] in own]
    return {**found, **asked.typed_tolerance, **given_tolerances(later, TOLERANCE.flag, own)}


def check_later(asked: Options, metrics: Metrics) -> None:
    """Raise OptionError for a tolerance of a metric that no test declares."""
    for text in asked.later_tolerance:
        if text.partition(":")[0] not in metrics:
            given_tolerances([text], TOLERANCE.flag, metrics)


def _of_mark(mark: pytest.Mark, where: str, metrics: Metrics) -> Mapping[str, float]:
    given = mark.kwargs.get("tolerance", {})
    is_right = isinstance(given, Mapping) and all(isinstance(amount, str) for amount in given.values())
    if mark.args or not mark.kwargs.keys() <= KNOWN or not mark.kwargs or not is_right:
        arguments = ", ".join([*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())])
        raise OptionError(f"{where}: expected {RIGHT}, got dlbench({arguments})")
    return given_tolerances([f"{name}:{amount}" for name, amount in given.items()], where, metrics)


def declared(node: pytest.Item) -> Metrics:
    """The metrics that the marks of a test, its class and its module declare; raises OptionError."""
    found: dict[str, Metric] = {}
    for owner, mark in reversed(list(node.iter_markers_with_node("dlbench"))):
        given = mark.kwargs.get("metrics", ())
        if not isinstance(given, list | tuple) or not all(isinstance(one, Metric) for one in given):
            raise OptionError(f"the mark dlbench of {owner.nodeid}: expected {RIGHT_METRICS}, got metrics={given!r}")
        found |= {one.name: replace(one, default_views=one.default_views or VIEWS) for one in given}
    return found


def measuring(registry: Registry, items: Iterable[pytest.Item]) -> Registry:
    """The registry with the metrics that tests declare; raises OptionError for one with two meanings."""
    found: dict[str, tuple[Metric, str]] = {}
    for item in items:
        for name, metric in declared(item).items():
            earlier, place = found.setdefault(name, (metric, item.nodeid))
            # How much worse it may be is each test's own affair.
            if replace(metric, tolerance=earlier.tolerance) != earlier:
                raise OptionError(
                    f"the marks dlbench of {place} and {item.nodeid} declare different metrics named {name!r}; give"
                    " one of them another name"
                )
    for metric, place in found.values():
        registry = registry.measuring([metric], f"the mark dlbench of {place}")
    return registry


def environment(node: pytest.Item) -> str | Sequence[str] | None:
    """Where the programs of a test run, by its closest mark that says so; None for the Python that runs pytest."""
    given = (mark.kwargs["environment"] for mark in node.iter_markers("dlbench") if "environment" in mark.kwargs)
    return next(given, None)
