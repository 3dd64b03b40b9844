"""Plain sentences about one cell."""

import pytest

from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.records import CaseOutcome, VerdictOutcome
from pytest_dlbench.reporting import sentences
from tests.doubles import records


def times(estimate, lower, upper):
    return Interval(estimate=estimate, lower=lower, upper=upper)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (times(9.02, 8.6, 9.4), "pytorch takes 9.0 times as long a step as mine [8.6, 9.4]"),
        (times(1.08, 1.06, 1.11), "pytorch takes 1.08 times as long a step as mine [1.06, 1.11]"),
        (times(1.01, 0.98, 1.05), "pytorch and mine take about as long a step: 1.01 times [0.980, 1.05]"),
        (
            times(2.0, 0.7, 5.7),
            (
                "pytorch takes 2.0 times as long a step as mine in these runs, but they vary too much to decide"
                " [0.70, 5.7]"
            ),
        ),
    ],
)
def test_two_frameworks(found, sentence):
    assert sentences.of_frameworks("mine", [("pytorch", found)], "step") == sentence


def test_a_few_frameworks_are_named_one_by_one():
    others = [("c", times(1.01, 0.97, 1.05)), ("a", times(2.0, 1.9, 2.1)), ("b", times(9.0, 8.6, 9.4))]
    assert sentences.of_frameworks("mine", others, "batch") == (
        "mine takes the shortest batch; a takes 2.0 times as long [1.9, 2.1]; b takes 9.0 times as long [8.6, 9.4];"
        " not decided for c, 1.01 times as long [0.970, 1.05]"
    )


def test_many_frameworks_are_a_range():
    others = [(f"f{place}", times(place, place - 0.1, place + 0.1)) for place in range(2, 25)]
    found = sentences.of_frameworks("mine", others, "step")
    assert found == "mine takes the shortest step; 23 others take 2.0 times (f2) to 24 times (f24) as long"


def of(*verdicts, outcome=CaseOutcome.PASSED):
    result = records.case_result(outcome=outcome, verdicts=verdicts)
    return sentences.of_comparison(result, "pytorch==2.13.0", "pytorch==2.12.0")


def test_a_regression_names_both_sides():
    assert of(records.verdict(), outcome=CaseOutcome.REGRESSED) == (
        "pytorch==2.13.0 takes 1.20 times as long a step as pytorch==2.12.0 [1.15, 1.25]: regressed"
    )


def test_the_time_of_a_step_comes_first():
    found = of(records.verdict(metric="step_time_median"), records.verdict(), outcome=CaseOutcome.REGRESSED)
    assert found.startswith("pytorch==2.13.0 takes 1.20 times as long a step as")


def test_without_a_change_the_time_is_stated_with_the_tolerance():
    same = {"outcome": VerdictOutcome.EQUIVALENT, "change": 1.01, "lower": 0.99, "upper": 1.03}
    found = of(records.verdict(metric="peak_rss", **same), records.verdict(**same))
    assert found.endswith("times as long a step as pytorch==2.12.0 [0.990, 1.03]: no change beyond 5%")


def test_accuracy_is_a_difference_in_points():
    points = records.verdict(metric="accuracy", change=-2.0, lower=-3.0, upper=-1.0, tolerance=1.0)
    found = of(points, outcome=CaseOutcome.REGRESSED)
    assert found == "accuracy of pytorch==2.13.0 differs by -2.00 pp [-3.00, -1.00] from pytorch==2.12.0: regressed"


def test_a_leak_is_no_comparison():
    leak = records.verdict(metric="leak", change=5.0, lower=4.0, upper=6.0, tolerance=2.0)
    assert not sentences.compared(records.case_result(verdicts=(leak,)))
    assert sentences.compared(records.case_result(verdicts=(leak, records.verdict())))


def test_a_metric_of_a_hook_that_is_not_installed_is_stated():
    assert "plug_energy of pytorch==2.13.0" in of(records.verdict(metric="plug_energy"))
