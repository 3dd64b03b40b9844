"""Two recorded sessions of one case."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, Metric
from pytest_dlbench.judging.sides import compare_sides
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.records.reasons import Missing
from tests.doubles import records

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
