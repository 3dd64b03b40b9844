"""What accuracy costs: which frameworks are shown, and which are on the Pareto front."""

from dataclasses import replace

from pytest_dlbench.reporting.charts import Nothing, pareto
from tests.doubles.judged import judged, measured


def front(*cases):
    chart = pareto.chart(measured(*cases))
    names = [dict(zip(chart.columns, row, strict=True)) for row in chart.rows]
    return {cases[row["case"]].result.case.framework: row["front"] == pareto.ON for row in names}, chart.notes


def test_what_another_one_beats_in_everything_is_not_on_the_front():
    found, notes = front(judged("pytorch", step=0.01), judged("jax", step=0.02), judged("mxnet", step=0.03))
    assert found == {"pytorch": True, "jax": False, "mxnet": False}
    assert not notes


def test_one_framework_is_no_front():
    assert isinstance(pareto.chart(measured(judged("pytorch"))), Nothing)


def test_a_framework_with_few_of_the_seeds_is_not_shown_and_named():
    of_two = judged("tinygrad", runs=2)
    found, notes = front(judged("pytorch", runs=5), judged("jax", runs=5), of_two)
    assert set(found) == {"pytorch", "jax"}
    assert notes == (
        "Not shown, because they have fewer than half of the seeds of the others: tinygrad · tartu-mnist-cnn.",
    )


def test_a_framework_of_which_a_run_failed_is_shown():
    whole = judged("mxnet", runs=5)
    found, notes = front(judged("pytorch", runs=5), judged("jax", runs=5), replace(whole, runs=whole.runs[1:]))
    assert set(found) == {"pytorch", "jax", "mxnet"}
    assert not notes
