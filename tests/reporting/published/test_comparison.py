"""Our ratios compared with published ones."""

import pytest

from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.reporting.charts import Nothing, published
from pytest_dlbench.reporting.charts.chart import joined
from pytest_dlbench.reporting.published.comparison import Cell, Held, cells, compare, summary
from tests.doubles.judged import judged, measured

CELL = Cell(
    source="hkbu",
    model="hkbu-fcn-r",
    is_gpu=False,
    place="a processor, 2 threads",
    threads=2,
    condition="a processor, 2 threads, MNIST",
    seconds={"Caffe": 0.5, "CNTK": 1.0, "TensorFlow": 2.0, "MXNet": 4.0},
    flaws={"Caffe": (), "CNTK": ("shared", "of CNTK"), "TensorFlow": ("shared",), "MXNet": ()},
)
ORDERS = {"cntk": 1.0, "tensorflow": 3.0, "mxnet": 0.5}


def ours(width=1.1, **seconds):
    seconds = seconds or ORDERS
    return {
        a: {b: Interval(estimate=s / t, lower=s / t / width, upper=s / t * width) for b, t in seconds.items()}
        for a, s in seconds.items()
    }


def test_frameworks_are_compared_with_the_fastest_published_one_that_we_have():
    found = list(compare(CELL, ours()))
    assert [(one.framework, one.quickest, one.then) for one in found] == [
        ("TensorFlow", "CNTK", 2.0),
        ("MXNet", "CNTK", 4.0),
    ]


def test_an_order_holds_if_the_interval_is_above_1():
    assert [one.held for one in compare(CELL, ours())] == [Held.YES, Held.NO]


def test_an_interval_that_includes_1_is_undecided():
    assert [one.held for one in compare(CELL, ours(width=10))] == [Held.UNDECIDED, Held.UNDECIDED]


def test_ranks_are_among_the_frameworks_that_both_have():
    assert [(one.rank_then, one.rank_now, one.of) for one in compare(CELL, ours())] == [(2, 3, 3), (3, 1, 3)]


def test_the_flaws_of_both_cells_are_listed_once():
    first, _ = compare(CELL, ours())
    assert first.flaws == ("shared", "of CNTK")


def test_a_single_framework_is_not_compared():
    assert not list(compare(CELL, ours(cntk=1.0)))


def test_the_summary_counts_every_answer():
    assert (
        summary(compare(CELL, ours())) == "of 2 published orders of two frameworks, 1 held, 1 did not hold, 0 undecided"
    )


def test_a_log_is_compared_by_its_seconds_per_epoch():
    (cell,) = [c for c in cells() if c.model == "tartu-mnist-cnn" and not c.is_gpu]
    assert cell.seconds["Chainer"] == pytest.approx(5281.646 / 15)


def test_a_speed_is_compared_as_a_time():
    (cell,) = [c for c in cells() if c.model == "gatech-lenet" and c.is_gpu and "P100" in c.condition]
    assert cell.seconds["MXNet"] == pytest.approx(1 / 46691)


def test_figures_of_several_gpus_are_not_compared():
    of_p100 = [c for c in cells() if c.model == "gatech-lenet" and "P100" in c.condition]
    # Two GPUs reached 34,137 images per second.
    assert [cell.seconds["MXNet"] for cell in of_p100] == [pytest.approx(1 / 46691)]


def test_gatech_has_no_cell_because_each_framework_trained_its_own_network():
    assert not [cell for cell in cells() if cell.source == "gatech"]


def test_our_cpu_figures_are_compared_only_with_published_cpu_figures():
    cases = measured(judged("tensorflow", "hkbu-fcn-r"), judged("mxnet", "hkbu-fcn-r", step=0.03))
    rows = joined(published.chart(cases), cases)
    assert rows
    assert {row["source"] for row in rows} == {"hkbu"}
    assert not [row for row in rows if "NVIDIA" in row["condition"]]


def test_a_published_cell_is_compared_with_our_nearest_number_of_threads():
    ours = [judged(name, "hkbu-fcn-r", threads=count) for count in (1, 4) for name in ("tensorflow", "mxnet")]
    cases = measured(*ours)
    rows = joined(published.chart(cases), cases)
    of_i7 = {row["condition"].split(", ")[1]: row["ours_on"] for row in rows if "i7" in row["condition"]}
    assert of_i7 == {
        "1 thread": "hkbu-fcn-r · 1 thread",
        "2 threads": "hkbu-fcn-r · 1 thread",
        "4 threads": "hkbu-fcn-r · 4 threads",
        "8 threads": "hkbu-fcn-r · 4 threads",
    }


def test_orders_that_did_not_hold_come_first():
    cases = measured(judged("tensorflow", "tartu-mnist-cnn", step=0.03), judged("mxnet", "tartu-mnist-cnn"))
    rows = joined(published.chart(cases), cases)
    assert rows[0]["held"] == "did not hold"
    assert rows[0]["pair"] == "mxnet / tensorflow"


def test_models_without_published_figures_are_not_shown():
    assert isinstance(published.chart(measured(judged("tensorflow", "mine"), judged("mxnet", "mine"))), Nothing)
