"""The mark ``dlbench``: the tolerances of a test, a class or a module, and where its programs run."""

from collections.abc import Mapping, Sequence

import pytest

from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import Metrics, given_tolerances
from pytest_dlbench.options import Options

LINE = (
    'dlbench(tolerance, environment): how much worse metrics may be, such as dlbench(tolerance={"step_time": "3%"}),'
    " and where programs run, such as dlbench(environment='requirements.txt')"
)
KNOWN = {"tolerance", "environment"}
RIGHT = '@pytest.mark.dlbench(tolerance={"step_time": "3%", "accuracy": "0.5pp"})'


def tolerances(node: pytest.Item, asked: Options, metrics: Metrics) -> Mapping[str, float]:
    """By metric: from the ini file, then the marks of module, class and function, then the command line.

    Later ones win, metric by metric. Raises OptionError with the place of a malformed mark.
    """
    found = dict(asked.tolerance)
    for owner, mark in reversed(list(node.iter_markers_with_node("dlbench"))):
        found.update(_of_mark(mark, f"the mark dlbench of {owner.nodeid}", metrics))
    return {**found, **asked.typed_tolerance}


def _of_mark(mark: pytest.Mark, where: str, metrics: Metrics) -> Mapping[str, float]:
    given = mark.kwargs.get("tolerance", {})
    is_right = isinstance(given, Mapping) and all(isinstance(amount, str) for amount in given.values())
    if mark.args or not mark.kwargs.keys() <= KNOWN or not mark.kwargs or not is_right:
        arguments = ", ".join([*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())])
        raise OptionError(f"{where}: expected {RIGHT}, got dlbench({arguments})")
    return given_tolerances([f"{name}:{amount}" for name, amount in given.items()], where, metrics)


def environment(node: pytest.Item) -> str | Sequence[str] | None:
    """Where the programs of a test run, by its closest mark that says so; None for the Python that runs pytest."""
    given = (mark.kwargs["environment"] for mark in node.iter_markers("dlbench") if "environment" in mark.kwargs)
    return next(given, None)
