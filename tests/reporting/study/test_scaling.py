"""How much faster more threads and more workers are, in the words of a study."""

import pytest

from pytest_dlbench.records.reasons import Neighbours
from pytest_dlbench.reporting.charts import speedup, threads, workers
from pytest_dlbench.reporting.study import findings, scaling
from pytest_dlbench.reporting.study.document import Picture, Section, Table
from tests.doubles.judged import judged, measured

BUSY = {"cautions": (Neighbours(runs=3, disturbed=3, cpus=1.6),)}


def blocks_of_workers(*cases):
    return scaling.blocks(measured(*cases), "workers", lambda case: case.case.workers, lambda case: case.training)


def over_workers(*cases):
    return blocks_of_workers(*cases)[0]


def test_each_framework_is_compared_with_its_fewest_workers():
    table = over_workers(
        judged("jax", step=0.02),
        judged("jax", step=0.0125, workers=2),
        judged("mxnet", step=0.01),
        judged("mxnet", step=0.04, workers=4),
    )
    assert table.headings[2] == "workers"
    found = [(framework, count, gain.split(" ")[0], share) for _, framework, count, gain, share in table.rows]
    assert found == [("jax", "2", "1.60", "80 %"), ("mxnet", "4", "0.250", "6 %")]
    assert len({cell for cell, *_ in table.rows}) == 1


def test_sessions_and_single_cases_are_not_compared():
    assert not over_workers(judged("jax"), judged("jax", workers=2, session="20261122T114113-1")).rows
    assert not over_workers(judged("jax", workers=2), judged("mxnet")).rows


def test_with_a_batch_for_each_worker_samples_count():
    small, large = judged("jax", step=0.02, context={"batch_size": 32}), judged("jax", step=0.02, workers=2)
    one, two = measured(small, large)
    assert two.context.batch_size == 2 * one.context.batch_size
    assert speedup.gain(two, one).estimate == pytest.approx(2)


@pytest.mark.parametrize(("module", "count"), [(workers, "workers"), (threads, "threads")])
def test_the_words_of_a_picture_name_what_there_is_more_of(module, count):
    cases = measured(*(judged("jax", step=0.02 / number, **{count: number}) for number in (1, 2)))
    sections = {one.title: one for one in findings.findings(cases) if isinstance(one, Section)}
    blocks = {type(block): block for block in sections[module.TITLE].blocks}
    assert blocks[Picture].alt.endswith(f": speed-up of jax with 2 {count} 2.00")
    assert len(blocks[Table].rows) == 1


@pytest.mark.parametrize(("module", "count"), [(workers, "workers"), (threads, "threads")])
def test_the_words_of_a_picture_have_the_figures_of_the_table(module, count):
    # Their mean logarithm is not that of their median.
    uneven = judged("jax", step=0.01, spread=0.9, **{count: 2})
    cases = measured(judged("jax", step=0.02, **{count: 1}), uneven)
    sections = {one.title: one for one in findings.findings(cases) if isinstance(one, Section)}
    blocks = {type(block): block for block in sections[module.TITLE].blocks}
    estimate, _, _ = blocks[Table].rows[0][3].partition(" ")
    assert blocks[Picture].alt.endswith(f": speed-up of jax with 2 {count} {estimate}")
    assert float(estimate) != pytest.approx(0.02 / 0.019, rel=0.01)


@pytest.mark.parametrize("busy", [(True, False), (False, True), (True, True)])
def test_rows_of_cases_with_warnings_are_marked_and_the_mark_is_explained(busy):
    results = [BUSY if is_busy else {} for is_busy in busy]
    table, note = blocks_of_workers(
        judged("jax", step=0.03, result=results[0]),
        judged("jax", step=0.01, workers=2, result=results[1]),
        judged("mxnet", step=0.03),
        judged("mxnet", step=0.02, workers=2),
    )
    assert [row[-1] for row in table.rows] == ["150 % †", "75 %"]
    assert note.text.startswith("† The case, or the one with the fewest workers, has a warning that its figures may")
    assert "an efficiency above 100 % may have no other cause" in note.text


def test_what_an_efficiency_above_100_percent_means_is_said_only_of_one_with_a_mark():
    calm = judged("jax", step=0.03), judged("jax", step=0.01, workers=2)
    busy = judged("mxnet", step=0.03, result=BUSY), judged("mxnet", step=0.02, workers=2)
    table, note = blocks_of_workers(*calm, *busy)
    assert [row[-1] for row in table.rows] == ["150 %", "75 % †"]
    assert "100 %" not in note.text
    assert len(blocks_of_workers(*calm)) == 1
