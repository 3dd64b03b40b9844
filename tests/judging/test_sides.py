"""Two recorded sessions of one case."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, Metric
from pytest_dlbench.judging.sides import compare_sides
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.records.reasons import Missing, TooFew, Unshown
from tests.doubles import records
from tests.doubles.absolute import LOST

TOLERANCES = {"peak_rss": 0.2, "perplexity": 0.05}


def of_text(factor=1.0):
    tokens = replace(records.evaluation(), answers="tokens")
    return [replace(run, evaluation=tokens) for run in records.runs(peaks_mib=(500 * factor,) * 3)]


@pytest.mark.parametrize(
    ("factor", "outcome"),
    [(1.0, CaseOutcome.INCOMPARABLE), (0.5, CaseOutcome.INCOMPARABLE), (2, CaseOutcome.REGRESSED)],
)
def test_a_case_is_not_comparable_by_what_only_the_candidate_has(factor, outcome):
    old, new = records.record(), records.record(of_text(factor))
    found, verdicts, reasons = compare_sides(old, new, TOLERANCES, METRICS)
    assert (found, [one.metric for one in verdicts]) == (outcome, ["peak_rss"])
    assert reasons[-1] == Missing(metrics=("perplexity",), side="baseline")


def test_an_absolute_metric_that_only_the_candidate_has_leaves_it_comparable():
    lost = Metric(name="lost", unit="share", better="lower", kind="points", value=None, is_absolute=True)
    runs = [replace(run, hooked={"lost": 0.0}) for run in records.runs()]
    tolerances, metrics = {"peak_rss": 0.2, "lost": 1.0}, {**METRICS, "lost": lost}
    found, _, reasons = compare_sides(records.record(), records.record(runs), tolerances, metrics)
    assert (found, reasons) == (CaseOutcome.PASSED, ())


def of_lost(*shares):
    """Two sessions, whose candidate lost these shares of something, with the metric of it."""
    runs = [replace(run, hooked={"lost": share}) for run, share in zip(records.runs(), shares, strict=True)]
    return records.record(), records.record(runs), {"peak_rss": 0.2, "lost": 2.0}, {**METRICS, "lost": LOST}


def test_what_needs_no_baseline_is_judged_of_the_candidate():
    outcome, verdicts, reasons = compare_sides(*of_lost(0.09, 0.09, 0.09))
    assert (outcome, [one.metric for one in verdicts]) == (CaseOutcome.REGRESSED, ["peak_rss", "lost"])
    assert reasons == ()


def test_it_is_judged_where_the_sides_cannot_be_compared():
    old, *others = of_lost(0.09, 0.09, 0.09)
    outcome, verdicts, reasons = compare_sides(replace(old, runs=old.runs[:2]), *others)
    assert (outcome, [one.metric for one in verdicts]) == (CaseOutcome.REGRESSED, ["lost"])
    assert [type(one) for one in reasons] == [TooFew]


def test_what_too_few_runs_of_the_candidate_show_is_inconclusive():
    outcome, _, reasons = compare_sides(*of_lost(0.09, None, 0.09))
    assert (outcome, reasons) == (CaseOutcome.INCONCLUSIVE, (Unshown(metrics=("lost",), needed=3),))


def test_a_candidate_that_is_refused_is_judged_by_nothing():
    old, new, *others = of_lost(0.09, 0.09, 0.09)
    outcome, verdicts, _ = compare_sides(old, replace(new, runs=new.runs[:2]), *others)
    assert (outcome, verdicts) == (CaseOutcome.INCOMPARABLE, ())
