"""What a page says first."""

import pytest

from pytest_dlbench.records import CaseOutcome, VerdictOutcome
from pytest_dlbench.records.reasons import Portable
from pytest_dlbench.reporting.page import decision
from tests.doubles import records
from tests.doubles.judged import both_sides, judged, measured

EQUAL = records.verdict(outcome=VerdictOutcome.EQUIVALENT, change=1.0, lower=0.98, upper=1.02)
LEAK = records.verdict(
    metric="leak", outcome=VerdictOutcome.EQUIVALENT, change=0.1, lower=0.0, upper=0.2, tolerance=2.0
)
PASSED = {"outcome": CaseOutcome.PASSED, "verdicts": (EQUAL,)}
REGRESSED = {"outcome": CaseOutcome.REGRESSED, "verdicts": (records.verdict(),)}
NEW = {"outcome": CaseOutcome.NO_BASELINE}


def case(number, result, **changes):
    return judged("pytorch", f"net-{number}", result=result, **changes)


@pytest.mark.parametrize(
    ("results", "headline"),
    [
        ([PASSED], ("No regression", "good")),
        ([PASSED, NEW], ("No regression; 1 of 2 cases had nothing to be compared with", "good")),
        ([REGRESSED], ("Regressed: pytorch takes 1.20 times as long a step as its baseline [1.15, 1.25]", "bad")),
        ([REGRESSED, REGRESSED, PASSED], ("Regressed: 2 of 3 cases", "bad")),
        ([PASSED, {"outcome": CaseOutcome.CRASHED}], ("Failed: 1 crashed (of 2 cases)", "bad")),
        ([{"outcome": CaseOutcome.INVALID}], ("Not decided: 1 invalid", "doubt")),
        ([PASSED, {"outcome": CaseOutcome.INCOMPARABLE}], ("Not decided: 1 incomparable (of 2 cases)", "doubt")),
        ([NEW, NEW], ("Measured, and compared with nothing", "plain")),
        ([], ("Nothing was measured", "plain")),
    ],
)
def test_the_headline_is_the_decision(results, headline):
    assert decision.headline(measured(*(case(number, result) for number, result in enumerate(results)))) == headline


def test_a_leak_judged_alone_is_no_comparison():
    alone = {"outcome": CaseOutcome.NO_BASELINE, "verdicts": (LEAK,)}
    text, _ = decision.headline(measured(*(case(number, alone) for number in range(9))))
    assert text == "Measured, and compared with nothing"


def test_what_a_portable_baseline_says_is_a_statement_and_no_decision():
    accurate = records.verdict(metric="accuracy", outcome=VerdictOutcome.EQUIVALENT, change=0.0, tolerance=1.0)
    used = Portable(path="p.json", saved="2026-11-20", why="the first figures")
    cases = measured(case(1, {**NEW, "verdicts": (accurate,), "reasons": (used,)}))
    assert decision.headline(cases) == ("Measured, and compared with nothing", "plain")
    texts = [text for _, _, text in decision.statements(cases)]
    assert "pytorch on any machine: accuracy equivalent" in texts


def test_a_leak_is_not_called_a_slower_step():
    leaks = {
        "outcome": CaseOutcome.REGRESSED,
        "verdicts": (EQUAL, records.verdict(metric="leak", change=5.0, new=0.05)),
    }
    text, _ = decision.headline(measured(case(1, leaks)))
    assert text == "Regressed: leak of pytorch 5.00 %"


def test_one_cell_of_two_frameworks_is_one_sentence():
    cases = measured(judged("mine", step=0.01, result=NEW), judged("pytorch", step=0.09, result=NEW))
    text, tone = decision.headline(cases)
    assert text.startswith("tartu-mnist-cnn: pytorch takes 9.0 times as long a step as mine [8.")
    assert tone == "plain"
    assert decision.statements(cases) == [(0, "tartu-mnist-cnn", text.removeprefix("tartu-mnist-cnn: "))]


def test_a_framework_that_is_fastest_everywhere_is_the_headline():
    cases = measured(
        *(
            judged(name, f"net-{n}", step=step, result=NEW)
            for n in range(3)
            for name, step in (("a", 0.01), ("b", 0.02))
        )
    )
    assert decision.headline(cases)[0] == "a is the fastest on all 3 cells"


def test_no_framework_is_fastest_everywhere_if_the_runs_of_a_cell_do_not_show_it():
    close = [judged("a", "net-2", step=0.01, result=NEW), judged("b", "net-2", step=0.01001, result=NEW)]
    clear = [judged("a", "net-1", step=0.01, result=NEW), judged("b", "net-1", step=0.02, result=NEW)]
    assert decision.headline(measured(*clear, *close))[0] == "No framework is the fastest on both cells"


def test_the_two_sides_of_pairs_are_one_statement_without_a_baseline():
    cases = measured(*both_sides(step=0.012, outcome=CaseOutcome.REGRESSED, verdicts=(records.verdict(),)))
    text = "pytorch==2.13.0 takes 1.20 times as long a step as pytorch==2.12.0 [1.15, 1.25]"
    assert decision.headline(cases) == (f"Regressed: {text}", "bad")
    assert decision.statements(cases) == [(1, "tartu-mnist-cnn", f"{text}: regressed")]


def test_a_case_with_nothing_to_compare_is_stated_by_its_figures():
    ((_, cell, sentence),) = decision.statements(measured(judged(result=NEW)))
    assert (cell, sentence) == ("tartu-mnist-cnn", "pytorch: step 10 % 10.0 ms, accuracy 95.00 %")
