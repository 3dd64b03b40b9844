"""Mean ranks of frameworks over workloads."""

import pytest

from pytest_dlbench.judging.frameworks import RANKED_DATASETS
from pytest_dlbench.reporting.charts import Nothing, ranks
from tests.doubles.judged import judged, measured, workloads
from tests.doubles.records import machine


def rows(*cases):
    chart = ranks.chart(measured(*cases))
    return [dict(zip(chart.columns, row, strict=True)) for row in chart.rows]


def test_the_framework_that_is_always_the_fastest_has_rank_1():
    found = rows(*workloads(RANKED_DATASETS))
    assert [(row["framework"], row["rank"]) for row in found] == [("jax", 1.0), ("mxnet", 2.0), ("pytorch", 3.0)]
    # Demšar 2006: q for three is 2.343, of 8 data sets √(3·4 / (6·8)) of it.
    assert found[0]["difference"] == pytest.approx(2.343 * 0.5, abs=1e-3)
    assert found[0]["upper"] - found[0]["lower"] == pytest.approx(found[0]["difference"])


def test_too_few_workloads_are_not_ranked():
    assert isinstance(ranks.chart(measured(*workloads(RANKED_DATASETS - 1))), Nothing)


def test_a_workload_of_two_sessions_counts_once():
    again = [judged(name, "net-0", runs=1, steps=12, session="another") for name in ("jax", "mxnet", "pytorch")]
    assert isinstance(ranks.chart(measured(*workloads(RANKED_DATASETS - 1), *again)), Nothing)
    assert {row["workloads"] for row in rows(*workloads(RANKED_DATASETS), *again)} == {RANKED_DATASETS}


@pytest.mark.parametrize(
    "changes",
    [{"scale": "full"}, {"threads": 4}, {"context": {"machine": machine(name="other")}}],
    ids=lambda changes: next(iter(changes)),
)
def test_workloads_under_other_conditions_are_not_ranked_together(changes):
    names = ("jax", "mxnet", "pytorch", "theano")
    others = [judged(name, "net-7", runs=1, steps=12, session="another", **changes) for name in names]
    assert isinstance(ranks.chart(measured(*workloads(RANKED_DATASETS - 1), *others)), Nothing)
    # More frameworks in one cell are no reason to take it from elsewhere.
    assert rows(*workloads(RANKED_DATASETS), *others) == rows(*workloads(RANKED_DATASETS))


def test_the_conditions_of_a_ranking_are_named():
    cells = [(name, f"net-{number}", number) for number in range(RANKED_DATASETS) for name in ("jax", "mxnet")]
    sizes = [judged(name, model, context={"batch_size": 32 + number}) for name, model, number in cells]
    assert ranks.conditions(measured(*sizes), "cpu") == "Acme 9000, 2 threads, scale quick, batches of 32 to 39"
    assert ranks.conditions(measured(*sizes), "gpu") == ""
    context = {"machine": machine(gpus=("NVIDIA H200",))}
    on_gpu = [judged(name, model, device="gpu", context=context) for name, model, _ in cells]
    assert ranks.conditions(measured(*on_gpu), "gpu") == "NVIDIA H200, scale quick, batches of 64"
    (note,) = ranks.chart(measured(*workloads(RANKED_DATASETS))).notes
    assert note.startswith("cpu (Acme 9000, 2 threads, scale quick, batches of 64): 8 workloads; ")


def test_a_framework_with_few_workloads_does_not_prevent_ranking_the_others():
    found = rows(*workloads(RANKED_DATASETS), judged("cntk", "net-0", runs=1, steps=12))
    assert {row["framework"] for row in found} == {"jax", "mxnet", "pytorch"}
