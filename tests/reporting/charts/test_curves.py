"""Curves of many runs in one picture, or in many small ones."""

import re

import pytest
import vl_convert

from pytest_dlbench.reporting.charts import accuracy, accuracy_epochs, accuracy_time, curves, losses, phases
from pytest_dlbench.reporting.page.pictures import VEGA_LITE, specification
from tests.doubles.judged import judged, measured

CURVES = pytest.mark.parametrize("module", [accuracy_time, accuracy_epochs, losses])
FEW = measured(*(judged(f"framework-{number}") for number in range(curves.MOST_TOGETHER)))
MANY = measured(*(judged(f"framework-{number:02}", step=0.01 * (1 + number)) for number in range(24)))


def drawn(module, cases):
    return vl_convert.vegalite_to_svg(specification(module.chart(cases), cases), vl_version=VEGA_LITE)


def marks(svg, kind, layer):
    """How many paths one layer of a picture has, over all of its panels."""
    return svg.count(f"{kind} role-mark {layer}_marks")


@CURVES
def test_a_few_frameworks_are_a_line_per_run_in_one_picture(module):
    svg = drawn(module, FEW)
    assert svg.count("mark-line role-mark") == 3 * curves.MOST_TOGETHER
    assert "child" not in svg


@CURVES
def test_two_dozen_frameworks_have_a_picture_each_with_one_coloured_line_and_a_band(module):
    svg = drawn(module, MANY)
    assert marks(svg, "mark-area", "child_layer_1") == marks(svg, "mark-line", "child_layer_2") == 24
    # The medians of all, in grey, under each.
    assert marks(svg, "mark-line", "child_layer_0") == 24 * 24
    assert all(f">{case.case.framework}<" in svg for case in MANY)


@pytest.mark.parametrize("cases", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("module", [accuracy, accuracy_time, accuracy_epochs])
def test_no_axis_of_accuracy_goes_beyond_100_percent(module, cases):
    perfect = measured(*(judged(case.case.framework, accuracy=1.0 - 0.01 * n) for n, case in enumerate(cases)))
    svg = drawn(module, perfect)
    labels = [float(label) for label in re.findall(r">([0-9.]+)</text>", svg)]
    assert not [label for label in labels if 100 < label < 160]


def test_the_sum_of_a_bar_is_written_beside_it():
    cases = measured(judged(step=0.01, steps=11))
    # Import 0.8, build 0.1, steps 0.1 + 0.1, evaluation 0.5 s.
    assert ">1.6<" in drawn(phases, cases)


def test_a_legend_lists_only_what_is_drawn():
    # The first cell has one framework, the second one another.
    cases = measured(judged("jax", "net-1"), judged("mxnet", "net-2"))
    svg = drawn(accuracy_time, cases)
    assert ">jax<" in svg
    assert ">mxnet<" not in svg
