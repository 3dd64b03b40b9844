"""Trainings under the roofline of their machine."""

from dataclasses import replace

import pytest

from pytest_dlbench.records import StepWork
from pytest_dlbench.reporting.charts import Nothing, roofline
from pytest_dlbench.reporting.charts.chart import joined
from tests.doubles.judged import inferred, judged, measured


def rows(*cases):
    found = measured(*cases)
    return joined(roofline.chart(found), found)


def changed(case, **changes):
    return replace(case, runs=tuple(replace(run, **changes) for run in case.runs))


def test_right_of_the_ridge_the_roof_is_the_peak_of_arithmetic():
    (row,) = rows(judged())
    assert (row["intensity"], row["achieved"], row["attainable"], row["share"]) == (50.0, 50.0, 200.0, 25.0)
    assert (row["peak"], row["bandwidth"], row["runs"]) == (200.0, 10.0, 3)
    assert (row["flops"], row["megabytes"]) == (0.5, 10.0)


def test_left_of_the_ridge_the_roof_is_the_memory_bandwidth():
    (row,) = rows(changed(judged(), work=StepWork(flops=5e8, least_bytes=1e8)))
    assert (row["intensity"], row["attainable"], row["share"]) == (5.0, 50.0, 100.0)


def test_every_machine_thread_count_and_precision_has_its_own_roof():
    one = judged("jax", threads=1)
    speed = replace(one.runs[0].speed, threads=1, precision="float64")
    found = {row["framework"]: row["roof"] for row in rows(judged(), changed(one, speed=speed))}
    assert found == {
        "pytorch": "linux-acme-2cores-8gib, 2 threads, float32",
        "jax": "linux-acme-2cores-8gib, 1 thread, float64",
    }


def test_records_without_the_bytes_of_a_step_have_a_note_instead_of_a_dot():
    old = changed(judged("jax"), work=None)
    chart = roofline.chart(measured(judged(), old))
    assert len(chart.rows) == 1
    assert chart.notes[0].startswith("1 case has no dot")
    alone = roofline.chart(measured(old))
    assert isinstance(alone, Nothing)
    assert "before the bytes of a step were counted" in alone.because


@pytest.mark.parametrize("case", [changed(judged(), speed=None, flop_utilisation=None), inferred()])
def test_a_case_without_a_peak_has_no_dot(case):
    found = roofline.chart(measured(case))
    assert isinstance(found, Nothing)
    assert "peak of its machine" in found.because
