"""Every chart can be drawn by Vega-Lite if there are figures, and has a reason if there are none."""

import json

import pytest
import vl_convert

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting.charts import CHARTS, Chart, Nothing
from pytest_dlbench.reporting.charts.chart import joined
from pytest_dlbench.reporting.page.pictures import VEGA_LITE, specification
from tests.doubles import records
from tests.doubles.judged import divided, inferred, judged, measured, searched, session, unfinished, workloads

every = pytest.mark.parametrize("draw", CHARTS, ids=lambda draw: draw.__module__.rpartition(".")[2])


@pytest.fixture(scope="module")
def full():
    """Cases with figures for every chart."""
    compared = {"outcome": CaseOutcome.REGRESSED, "verdicts": (records.verdict(),)}
    return measured(
        judged("tensorflow", result=compared, threads=1),
        judged("mxnet", step=0.03, spread=0.1, threads=1),
        judged("mxnet", step=0.02, threads=2),
        judged("mxnet", step=0.001, threads=2, device="gpu"),
        judged("mxnet", step=0.02, threads=1, workers=2),
        judged("mxnet", "gatech-lenet", settings={"batch_size": 16}, threads=1),
        judged("mxnet", "gatech-lenet", settings={"batch_size": 64}, threads=1),
        unfinished(),
        inferred(),
        searched(),
        divided(),
        session(1),
        session(2),
        *workloads(8),
    )


@every
def test_every_chart_is_drawn_from_cases_that_have_its_figures(draw, full):
    assert not isinstance(draw(full), Nothing)


@every
def test_without_cases_every_chart_has_a_reason(draw):
    found = draw(())
    assert isinstance(found, Nothing)
    assert found.because


@every
def test_an_unfinished_case_breaks_no_chart(draw):
    assert draw(measured(unfinished())).title


@every
def test_every_row_has_its_columns_and_the_chosen_ones_are_among_them(draw, full):
    chart = draw(full)
    assert all(len(row) == len(chart.columns) for row in chart.rows)
    if isinstance(chart, Chart):
        known = set(joined(chart, full)[0])
        assert {chart.choose, chart.limit} - {""} <= known


@every
def test_every_field_of_a_picture_is_a_column(draw, full):
    chart = draw(full)
    if isinstance(chart, Chart):
        made = {"aim", "cut", "one", "min_peak", "max_peak", "roof", "least", "most", "ridge", "left", "right", "foot"}
        made |= {"middle", "middle_x", "low", "high", "room", "name_at"}
        assert set(_fields(chart.picture)) <= {*joined(chart, full)[0], *made}


@every
def test_every_picture_can_be_drawn_by_vega_lite(draw, full):
    chart = draw(full)
    if isinstance(chart, Chart):
        drawn = vl_convert.vegalite_to_svg(specification(chart, full), vl_version=VEGA_LITE)
        assert chart.title in drawn
        assert drawn.count("<path") > 3


@every
def test_text_from_records_is_in_a_picture_only_as_a_row_or_a_colour(draw):
    hostile = "</script><b>datum.x"
    chart = draw(measured(judged("jax", hostile), judged(hostile, hostile)))
    if isinstance(chart, Chart):
        outside = json.loads(json.dumps(chart.picture), object_hook=_without_domains)
        assert hostile not in json.dumps(outside)


def _fields(part):
    if isinstance(part, dict):
        # The number of a row is of no field.
        if isinstance(part.get("field"), str) and part.get("op") != "row_number":
            yield part["field"]
        for value in part.values():
            yield from _fields(value)
    if isinstance(part, list):
        for value in part:
            yield from _fields(value)


def _without_domains(part):
    return {name: value for name, value in part.items() if name != "domain"}
