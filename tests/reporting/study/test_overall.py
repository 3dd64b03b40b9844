"""Frameworks over all workloads: one table for each metric, and what Wilcoxon's test can say."""

import pytest

from pytest_dlbench.judging.frameworks import RANKED_DATASETS
from pytest_dlbench.reporting.study import overall
from pytest_dlbench.reporting.study.document import Lacking
from tests.doubles.judged import judged, measured, workloads


def varied(count=RANKED_DATASETS, frameworks=("jax", "mxnet", "pytorch"), **changes):
    """Networks on which each framework takes longer than the previous one, by a factor of its own each time."""
    return [
        judged(framework, f"net-{number}", step=0.01 * (1 + place) * (1 + 0.05 * place * number), steps=12, **changes)
        for number in range(count)
        for place, framework in enumerate(frameworks)
    ]


def tables(*cases):
    section = overall.section(measured(*cases))
    return {block.caption: block for block in section.blocks if hasattr(block, "caption")}


def rows(table):
    return [dict(zip(table.headings, row, strict=True)) for row in table.rows]


def test_each_framework_is_compared_with_the_best():
    table = tables(*varied())["Over all workloads on cpu: time of a step, 8 workloads"]
    assert "time of a step / that of jax" in table.headings
    found = rows(table)
    assert [(row["framework"], row["worse in"]) for row in found] == [("mxnet", "8 of 8"), ("pytorch", "8 of 8")]
    # Twice as long, and 0 to 35 % more: the geometric mean of the factors is 1.17.
    assert found[0]["time of a step / that of jax"].startswith("2.34 [")
    assert {row["in general"] for row in found} == {"worse"}


@pytest.mark.parametrize(
    "changes", [{"scale": "full", "context": {"steps": 12, "recipe_steps": 100}}, {"scale": "quick"}]
)
def test_metrics_that_shortened_trainings_do_not_have_are_not_compared(changes):
    compared, shortened = (
        {caption.split(": ")[1].split(",")[0] for caption in tables(*cases) if ": " in caption}
        for cases in (varied(scale="full"), varied(**changes))
    )
    assert {"time of a step", "peak RSS", "training time", "accuracy"} <= compared
    assert compared - shortened == {"training time", "accuracy"}


def test_without_spread_over_workloads_nothing_is_said_in_general():
    found = rows(tables(*workloads(RANKED_DATASETS))["Over all workloads on cpu: time of a step, 8 workloads"])
    assert found[0]["time of a step / that of jax"] == "2.00 [–]"
    assert {row["in general"] for row in found} == {"not shown"}


def test_too_few_workloads_are_not_compared():
    found = overall.section(measured(*varied(RANKED_DATASETS - 1)))
    assert isinstance(found, Lacking)
    assert "8 workloads in common" in found.because


def test_wilcoxons_test_over_few_runs_shows_nothing_where_intervals_do():
    found = rows(tables(*varied(runs=5))["Wilcoxon's signed-rank test over runs, and intervals"])
    assert len(found) == RANKED_DATASETS
    assert {(row["runs"], row["least p, corrected"], row["differ by it"]) for row in found} == {("5", "0.19", "0")}
    assert {row["by intervals"] for row in found} == {"3"}


def test_the_test_pairs_runs_by_their_seeds():
    cases = varied()
    cases[0] = judged("jax", "net-0", steps=12, runs=2)
    (first, *_) = rows(tables(*cases)["Wilcoxon's signed-rank test over runs, and intervals"])
    assert first["runs"] == "2 to 3"
    assert float(first["found p"]) == pytest.approx(0.75)


def test_cells_of_single_runs_are_not_tested():
    assert not rows(tables(*varied(runs=1))["Wilcoxon's signed-rank test over runs, and intervals"])
