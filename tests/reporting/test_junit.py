import pytest

from pytest_dlbench.records import CaseOutcome, VerdictOutcome
from pytest_dlbench.records.reasons import SidesDisagree, TooFew
from pytest_dlbench.reporting import junit
from tests.doubles import records


def properties(**changes):
    return dict(junit.properties(records.case_result(**changes)))


def test_the_case_is_named():
    assert properties()["dlbench_case"] == records.case().id


@pytest.mark.parametrize("outcome", CaseOutcome)
def test_every_outcome_is_reported_by_its_name(outcome):
    assert properties(outcome=outcome)["dlbench_outcome"] == outcome.value


def test_every_figure_is_a_property():
    figures = records.case_result().figures
    assert {name: properties()[f"dlbench_{name}"] for name in figures} == figures


def test_a_case_without_figures_still_has_its_outcome():
    assert properties(figures={}, outcome=CaseOutcome.TIMEOUT) == {
        "dlbench_case": records.case().id,
        "dlbench_outcome": "timeout",
    }


def test_a_verdict_is_reported_with_its_change_and_interval():
    found = properties(figures={}, verdicts=(records.verdict(),))
    assert found | {"dlbench_case": "", "dlbench_outcome": ""} == {
        "dlbench_case": "",
        "dlbench_outcome": "",
        "dlbench_step_time_verdict": "regressed",
        "dlbench_step_time_old": 0.010,
        "dlbench_step_time_new": 0.012,
        "dlbench_step_time_change": 1.2,
        "dlbench_step_time_lower": 1.15,
        "dlbench_step_time_upper": 1.25,
        "dlbench_step_time_tolerance": 0.05,
    }


def test_missing_bounds_are_not_properties():
    unbounded = records.verdict(lower=None, upper=None)
    assert not {"dlbench_step_time_lower", "dlbench_step_time_upper"} & properties(verdicts=(unbounded,)).keys()


def test_the_reasons_are_named_with_the_command_that_settles_a_suspicion():
    found = properties(reasons=(TooFew(runs=1, needed=3), records.compared(pairs=records.in_pairs())))
    assert found["dlbench_reason"] == "too_few compared"
    assert found["dlbench_settled_by"].startswith("pytest bench/test_training.py::test_training ")


def test_names_are_unique():
    verdicts = (records.verdict(), records.verdict(metric="accuracy"))
    names = [name for name, _ in junit.properties(records.case_result(verdicts=verdicts))]
    assert len(names) == len(set(names))


def test_outcomes_are_plain_text_for_other_processes():
    assert type(properties(verdicts=(records.verdict(),))["dlbench_step_time_verdict"]) is str


def test_the_steps_are_reported_with_those_of_the_recipe():
    found = properties(steps=20, recipe_steps=88)
    assert (found["dlbench_steps"], found["dlbench_recipe_steps"]) == (20, 88)


def test_the_change_since_the_reference_session_is_reported_alongside_that_since_the_newest():
    found = properties(since_anchor=(records.verdict(outcome=VerdictOutcome.SUSPECT, change=1.22),))
    assert (found["dlbench_step_time_anchor_verdict"], found["dlbench_step_time_anchor_change"]) == ("suspect", 1.22)


def test_warnings_are_a_property():
    assert properties(cautions=(SidesDisagree(metric="step_time", sides=1.165, paired=0.891),))[
        "dlbench_warnings"
    ].startswith("step_time: ratio 1.165 between the medians of the two sides, ratio 0.891 within the pairs")
