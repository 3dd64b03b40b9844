"""An A/B test of one case: what is screened, what is confirmed, and how much of the budget that spends."""

from dataclasses import replace
from itertools import count
from math import expm1, log

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.alpha_spending import FIRST_LOOK
from pytest_dlbench.judging.pairs import Pair
from pytest_dlbench.judging.power import smallest_tolerance
from pytest_dlbench.judging.sequential import Reason
from pytest_dlbench.judging.two_stage import judge, narrow, terms_of
from pytest_dlbench.records import CurvePoint, VerdictOutcome
from pytest_dlbench.workflows import reasons
from tests.doubles import records

TOKENS = replace(records.evaluation(), answers="tokens")
TOLERANCES = {"step_time": 0.05, "step_time_median": 0.05, "accuracy": 1.0}
TERMS = terms_of(TOLERANCES, 20, (), METRICS)


def pairs_of(ratio):
    """Pairs in which the candidate's steps take ``ratio`` times as long."""
    for seed in count(1):
        yield Pair(old=records.run(seed), new=records.run(seed, step=0.01 * ratio))


def levels(*given):
    left = iter(given)
    return lambda: next(left, None)


def judged(ratio, *given, terms=TERMS, has_time=lambda: True):
    return judge(pairs_of(ratio).__next__, terms, levels(*given), has_time)


def outcomes(found):
    return {verdict.metric: verdict.outcome for verdict in found.verdicts}


def test_metrics_that_screening_clears_spend_nothing():
    found = judged(1.0, 0.005)
    assert set(outcomes(found).values()) == {VerdictOutcome.EQUIVALENT}
    assert (found.alpha, found.confirmed) == (0, [])


def test_each_candidate_spends_its_own_level():
    found = judged(1.2, 0.005, 0.0016)
    assert found.alpha == pytest.approx(0.0066)
    assert {name for name, outcome in outcomes(found).items() if outcome is VerdictOutcome.REGRESSED} == {
        "step_time",
        "step_time_median",
    }


def test_a_candidate_without_budget_is_inconclusive():
    found = judged(1.2, 0.005)
    assert outcomes(found)["step_time_median"] is VerdictOutcome.INCONCLUSIVE
    assert found.decisions["step_time_median"].reason is Reason.UNCONFIRMED


def test_without_time_no_budget_is_spent():
    found = judged(1.2, 0.005, 0.0016, has_time=lambda: False)
    assert found.alpha == 0
    assert VerdictOutcome.REGRESSED not in outcomes(found).values()
    assert found.decisions["step_time"].reason is Reason.UNCONFIRMED


def test_without_time_the_pairs_of_the_first_analysis_still_run_and_may_decide():
    found = judged(1.0, has_time=lambda: False)
    assert len(found.screened) == FIRST_LOOK
    assert set(outcomes(found).values()) == {VerdictOutcome.EQUIVALENT}


def test_without_time_undecided_metrics_are_inconclusive():
    found = judged(1.045, has_time=lambda: False)
    assert (len(found.screened), outcomes(found)["step_time"]) == (FIRST_LOOK, VerdictOutcome.INCONCLUSIVE)
    assert found.decisions["step_time"].reason is Reason.BUDGET_SPENT
    assert found.decisions["accuracy"].reason is Reason.DECIDED


def test_a_confirmation_that_runs_out_of_time_says_so():
    clock = iter([True, True, False])
    found = judged(1.2, 0.005, 0.0016, has_time=lambda: next(clock))
    assert len(found.confirmed) == 2
    assert found.decisions["step_time"].reason is Reason.BUDGET_SPENT
    assert VerdictOutcome.REGRESSED not in outcomes(found).values()


def test_a_smaller_level_needs_at_least_as_many_pairs():
    found = [judged(1.12, level, level).decisions["step_time"].pairs for level in (0.005, 0.0005, 0.00005)]
    assert found == sorted(found)


# What is judged, and with which power


def test_without_a_reference_the_spread_is_assumed():
    assert (TERMS.spreads["step_time"], TERMS.reference_runs) == (pytest.approx(0.015 * 2**0.5), 0)


def test_ten_consecutive_runs_measure_the_spread():
    reference = [records.run(seed, step=0.01 * (1.01 if seed % 2 else 1.0)) for seed in range(1, 11)]
    terms = terms_of(TOLERANCES, 20, reference, METRICS)
    assert (terms.spreads["step_time"], terms.reference_runs) == (pytest.approx(1.4826 * log(1.01)), 10)


def noisy(tolerances, step=1.1):
    reference = [records.run(seed, step=0.01 * (step if seed % 2 else 1.0)) for seed in range(1, 11)]
    return narrow(terms_of(tolerances, 20, reference, METRICS))


def test_a_tolerance_that_is_too_tight_is_reported_with_the_smallest_possible():
    found = noisy({"step_time": 0.05, "accuracy": 1.0})
    assert found == {"step_time": pytest.approx(expm1(smallest_tolerance(1.4826 * log(1.1))))}


def test_a_tolerance_that_pairs_can_resolve_is_not_too_tight():
    assert noisy({"step_time": 0.05}, step=1.01) == {}


def test_on_an_unmeasured_machine_only_unreachable_tolerances_are_too_tight():
    assert narrow(TERMS) == {}
    assert set(narrow(terms_of({"step_time": 0.001, "peak_rss": 0.02}, 20, (), METRICS))) == {"step_time"}


def test_without_a_reference_the_calibration_decides_what_is_too_tight():
    terms = terms_of(TOLERANCES, 20, (), METRICS, {"step_time": 0.1, "peak_rss": 0.5})
    assert narrow(terms) == {"step_time": pytest.approx(expm1(smallest_tolerance(0.1)))}
    reference = [records.run(seed, step=0.01 * (1.01 if seed % 2 else 1.0)) for seed in range(1, 11)]
    assert narrow(terms_of(TOLERANCES, 20, reference, METRICS, {"step_time": 0.1})) == {}


def test_a_calibration_widens_the_assumed_spread_but_never_narrows_it():
    terms = terms_of(TOLERANCES, 20, (), METRICS, {"step_time": 0.1, "step_time_median": 0.001})
    assert terms.spreads["step_time"] == 0.1
    assert terms.spreads["step_time_median"] == TERMS.spreads["step_time_median"]


def test_a_metric_that_neither_side_has_is_not_judged():
    terms = terms_of({**TOLERANCES, "perplexity": 0.05, "leak": 2.0}, 20, (), METRICS)
    assert outcomes(judged(1.0, terms=terms)).keys() == TOLERANCES.keys()


def test_a_metric_that_one_side_lacks_is_inconclusive():
    def lost():
        return Pair(old=records.run(evaluation=TOKENS), new=records.run())

    terms = terms_of({"step_time": 0.05, "step_time_median": 0.05, "perplexity": 0.05}, 20, (), METRICS)
    found = judge(lost, terms, levels())
    assert outcomes(found)["perplexity"] is VerdictOutcome.INCONCLUSIVE


def test_runs_that_missed_the_target_count_in_the_time_to_accuracy():
    def run(seed, *, seconds, accuracy):
        point = CurvePoint(step=10, epoch=1.0, seconds=seconds, accuracy=accuracy, loss=0.1)
        return records.run(seed, curve=(point,), target_accuracy=0.9)

    def side(*times):
        return [run(seed, seconds=seconds, accuracy=accuracy) for seed, (seconds, accuracy) in enumerate(times, 1)]

    baseline, candidate = side((10, 0.95), (12, 0.95)), side((11, 0.95), (20, 0.5))
    found = reasons.paired(judged(1.0), baseline, candidate, records.again()).time_to_target
    assert (found.target, found.baseline, found.candidate, found.horizon) == (0.9, 11.0, 15.5, 20.0)
    assert found.lower < found.longer == 4.5 < found.upper
    assert (found.missed, found.runs) == ((0, 1), (2, 2))


def test_a_gain_of_more_than_three_times_is_suspect():
    times = {"step_time", "step_time_median"}
    assert {outcomes(judged(0.2, 0.005))[name] for name in times} == {VerdictOutcome.SUSPECT}
    assert {outcomes(judged(0.4, 0.005))[name] for name in times} == {VerdictOutcome.IMPROVED}
