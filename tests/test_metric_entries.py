"""A metric is one entry: it is complete, and whatever shows metrics takes them from there."""

import ast
from pathlib import Path
from typing import get_args

import pytest

import pytest_dlbench
from pytest_dlbench.judging import METRICS, Metric, shown_in
from pytest_dlbench.judging.metric import View
from pytest_dlbench.judging.metrics import BUILT_IN
from pytest_dlbench.judging.scales import smallest_spread
from pytest_dlbench.reporting.columns import OWN, heading
from tests.doubles import records

PACKAGE = Path(pytest_dlbench.__file__).parent
VIEWS = get_args(View)
# What is no list of metrics to show: the names that other programs know figures by.
NO_VIEWS = {"reporting/exports/github_action_benchmark.py"}
MOST_NAMES = 2


def test_no_two_metrics_have_one_name():
    assert len(METRICS) == len(BUILT_IN)


@pytest.mark.parametrize("metric", BUILT_IN, ids=lambda metric: metric.name)
class TestEntry:
    def test_has_a_label_and_a_unit(self, metric):
        assert metric.label
        assert metric.unit

    def test_is_shown_in_views_that_exist_and_in_each_once(self, metric):
        assert set(metric.default_views) <= set(VIEWS)
        assert len(set(metric.default_views)) == len(metric.default_views)

    def test_has_spreads_that_can_be_judged_by(self, metric):
        assert metric.run_sd > 0
        assert metric.session_sd >= 0
        assert smallest_spread(metric) > 0

    def test_with_a_tolerance_is_one_that_users_see(self, metric):
        assert metric.tolerance is None or "table" in metric.default_views

    def test_in_a_table_has_its_label_as_its_heading(self, metric):
        assert heading(metric.name) == metric.label

    def test_leaves_its_unit_to_its_heading_only_where_that_has_it(self, metric):
        assert not metric.cell or metric.label in (metric.unit, "CPUs")

    def test_that_is_not_optional_is_read_off_every_finished_run_of_its_purpose(self, metric):
        of_purpose = {"inference": records.inferred, "operator": records.operated, "search": records.searched}
        run = of_purpose.get(metric.purpose, records.run)()
        assert metric.is_optional or metric.read(run) is not None


def test_labels_tell_metrics_and_other_columns_apart():
    labels = [*(metric.label for metric in BUILT_IN), *OWN.values()]
    assert len(set(labels)) == len(labels)
    assert not OWN.keys() & METRICS.keys()


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_some_metrics_in_their_order(view):
    names = [metric.name for metric in shown_in(view, METRICS)]
    assert names
    assert names == [name for name in METRICS if name in names]


def test_a_metric_without_a_smallest_spread_has_that_of_its_kind():
    ratio, points = (
        Metric(name="own", unit="x", better="lower", kind=kind, value=lambda _: None) for kind in ("ratio", "points")
    )
    assert (smallest_spread(ratio), smallest_spread(points)) == (0.003, 0.05)
    assert smallest_spread(METRICS["peak_rss"]) == 0.002


def test_a_metric_without_a_label_has_its_name_as_its_heading():
    assert Metric(name="own", unit="x", better="lower", kind="ratio", value=lambda _: None).heading == "own"


def listed(path):
    """The literals of a module that list metrics: tuples, lists, sets, and keys of dictionaries."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        values = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        names = [value.value for value in values if isinstance(value, ast.Constant) and value.value in METRICS]
        if len(names) > MOST_NAMES:
            yield names


def test_no_other_module_lists_metrics():
    modules = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    assert {name: found for name, path in modules.items() if (found := list(listed(path)))}.keys() == NO_VIEWS
