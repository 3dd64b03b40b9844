"""GitHub's summary."""

import pytest

from pytest_dlbench.records import CaseOutcome, SkippedCell
from pytest_dlbench.records.reasons import Difference, Incomparable, Leaking, SidesDisagree, Unavailable
from pytest_dlbench.reporting import markdown
from tests.doubles import records

SKIPPED = [SkippedCell(id="pytorch-net-a", reason="net takes 28×28, a has 32×32")]


def result(name="training-pytorch-mnist-cnn-digits28-cpu-quick", **changes):
    return records.case_result(case=records.case(name), **changes)


def test_a_summary(snapshot):
    results = [
        result(),
        result(
            "training-jax-mnist-cnn-digits28-cpu-quick", outcome=CaseOutcome.REGRESSED, verdicts=(records.verdict(),)
        ),
        result(
            "training-mlx-mnist-cnn-digits28-cpu-quick",
            outcome=CaseOutcome.TIMEOUT,
            figures={},
            reasons=(Unavailable(problem="slow\nlog"),),
        ),
    ]
    assert markdown.summary(results, SKIPPED, "machine m (Acme), 2 threads") == snapshot


def test_the_worst_comes_first():
    results = [result(), result(outcome=CaseOutcome.INCONCLUSIVE), result(outcome=CaseOutcome.REGRESSED)]
    assert markdown.summary(results, [], "").startswith("## dlbench: 1 regressed, 1 inconclusive, 1 passed\n")


@pytest.mark.parametrize("outcome", CaseOutcome)
def test_every_outcome_is_in_the_verdict(outcome):
    assert markdown.summary([result(outcome=outcome)], [], "").startswith(f"## dlbench: 1 {outcome}\n")


def test_a_session_without_cases_says_so():
    assert markdown.summary([], [], "m") == "## dlbench: no case was run\n\nm\n"


def test_a_suspicion_has_the_command_that_settles_it_as_code():
    suspicion = records.compared(pairs=records.in_pairs())
    lines = markdown.summary([result(outcome=CaseOutcome.SUSPECT, reasons=(suspicion,))], [], "").splitlines()
    (line,) = [line for line in lines if line.startswith("- to settle it: ")]
    assert line.startswith("- to settle it: `pytest bench/test_training.py::test_training --dlbench-models=mnist-cnn ")
    assert line.endswith(" --dlbench-ab=pytorch==2.12.0,pytorch==2.13.0`")


def test_differences_from_a_baseline_are_listed():
    differs = Incomparable(differences=(Difference(name="steps", baseline=50, candidate=51),))
    text = markdown.summary([result(outcome=CaseOutcome.INCOMPARABLE, reasons=(differs,))], [], "")
    assert "\n- steps 50 → 51\n" in text


def test_a_command_with_backticks_is_still_code():
    again = records.again(node="test_a.py::test_`x`")
    text = markdown.summary(
        [result(outcome=CaseOutcome.SUSPECT, reasons=(records.compared(again=again, pairs=records.in_pairs()),))],
        [],
        "",
    )
    assert "- to settle it: `` pytest 'test_a.py::test_`x`' " in text


@pytest.mark.parametrize("hostile", ["<script>", "a|b", "`x`", "[x](y)", "**x**"])
def test_a_name_is_text_and_not_markup(hostile):
    assert hostile not in markdown.summary([result(f"{hostile}-quick")], [], hostile)


def test_a_summary_of_thousands_of_cases_is_smaller_than_github_allows():
    many = [
        result(f"training-pytorch-net{number}-digits28-cpu-quick", outcome=CaseOutcome.CRASHED)
        for number in range(5000)
    ]
    text = markdown.summary(many, [], "")
    assert len(text.encode()) < 2**20
    assert "4,500 more cases are not shown here." in text


def test_warnings_are_listed_with_their_case():
    warned = result(cautions=(SidesDisagree(metric="step_time", sides=1.165, paired=0.891),))
    (line,) = [line for line in markdown.summary([warned], [], "").splitlines() if "warning" in line]
    assert line.startswith("- warning: pytorch-mnist-cnn-digits28-cpu: step\\_time: ratio 1.165 between the medians")


def test_all_reasons_of_an_incomparable_case_are_listed():
    differs = Incomparable(differences=(Difference(name="steps", baseline=50, candidate=51),))
    leaking = records.verdict(metric="leak", change=5.0, lower=4.0, upper=6.0)
    found = result(outcome=CaseOutcome.INCOMPARABLE, reasons=(Leaking(), differs), verdicts=(leaking,))
    text = markdown.summary([found], [], "")
    assert "\n- the two sides were measured under different conditions:\n- steps 50 → 51\n" in text


def test_of_a_traceback_the_error_is_kept():
    died = Unavailable(problem="Traceback (most recent call last):\n  File 'x.py'\nImportError: no it")
    text = markdown.summary([result(outcome=CaseOutcome.CRASHED, reasons=(died,))], [], "")
    assert "\n- Traceback (most recent call last):\n- ImportError: no it\n" in text
