"""The mark ``dlbench``: what a test, a class or a module tolerates of its own cases."""

from collections.abc import Mapping

import pytest

from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import Metrics, given_tolerances
from pytest_dlbench.options import Options

LINE = 'dlbench(tolerance): how much worse metrics may be, such as dlbench(tolerance={"step_time": "3%"})'
RIGHT = '@pytest.mark.dlbench(tolerance={"step_time": "3%", "accuracy": "0.5pp"})'


def tolerances(node: pytest.Item, asked: Options, metrics: Metrics) -> Mapping[str, float]:
    """By metric: the ini file's, then those of the marks of module, class and function, then the command line's.

    What comes later wins, metric by metric. Raises OptionError that says where the mark stands.
    """
    found = dict(asked.tolerance)
    for owner, mark in reversed(list(node.iter_markers_with_node("dlbench"))):
        found.update(_of_mark(mark, f"the mark dlbench of {owner.nodeid}", metrics))
    return {**found, **asked.typed_tolerance}


def _of_mark(mark: pytest.Mark, where: str, metrics: Metrics) -> Mapping[str, float]:
    given = mark.kwargs.get("tolerance", {})
    is_right = isinstance(given, Mapping) and all(isinstance(amount, str) for amount in given.values())
    if mark.args or mark.kwargs.keys() != {"tolerance"} or not is_right:
        told = ", ".join([*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())])
        raise OptionError(f"{where}: expected {RIGHT}, got dlbench({told})")
    return given_tolerances([f"{name}:{amount}" for name, amount in given.items()], where, metrics)
