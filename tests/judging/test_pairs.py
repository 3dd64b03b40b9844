from dataclasses import replace
from math import exp, inf, isnan, log, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.pairs import (
    Pair,
    difference,
    disagreements,
    reference_spread,
    reference_values,
    reported,
    rules,
    stall,
    verdict,
)
from pytest_dlbench.judging.scales import limit
from pytest_dlbench.judging.sequential import Decision, Reason, Rule, decide
from pytest_dlbench.records import Verdict, VerdictOutcome, codec
from tests.doubles import records

TIME, THROUGHPUT, ACCURACY, MEMORY = (METRICS[name] for name in ("step_time", "throughput", "accuracy", "peak_rss"))
RULE = Rule(tolerance=0.05, max_pairs=20)
times = st.floats(min_value=1e-6, max_value=1e3)


def pair(old=1.0, new=1.0):
    return Pair(old=records.run(step=old), new=records.run(step=new))


def decision(outcome=VerdictOutcome.EQUIVALENT, lower=-0.01, upper=0.01, reason=Reason.DECIDED):
    return Decision(
        outcome=outcome,
        reason=reason,
        pairs=3,
        estimate=0.0,
        lower=lower,
        upper=upper,
        spread=0.01,
        was_held_back=False,
    )


def test_a_slower_run_is_worse_by_the_logarithm_of_its_ratio():
    assert difference(TIME, pair(1.0, 1.1)) == pytest.approx(log(1.1))


@given(times, times)
def test_times_and_what_is_done_in_them_say_the_same(old, new):
    assert difference(THROUGHPUT, pair(old, new)) == pytest.approx(difference(TIME, pair(old, new)))


@given(times, times)
def test_swapping_the_runs_of_a_pair_mirrors_its_difference(old, new):
    assert difference(TIME, pair(new, old)) == -difference(TIME, pair(old, new))


@given(times, times, st.floats(min_value=0.001, max_value=1000))
def test_a_machine_of_another_speed_leaves_the_difference_where_it_is(old, new, factor):
    there, here = pair(old, new), pair(factor * old, factor * new)
    assert difference(TIME, here) == pytest.approx(difference(TIME, there), abs=1e-9)


def test_accuracy_that_is_lost_is_worse_in_points():
    assert difference(ACCURACY, Pair(old=records.run(accuracy=0.95), new=records.run(accuracy=0.925))) == pytest.approx(
        2.5
    )


@pytest.mark.parametrize("step", [0.0, -1.0, nan, float("inf")])
def test_what_has_no_ratio_is_no_number(step):
    assert isnan(difference(TIME, pair(1.0, step)))


def test_limits_are_in_the_unit_of_the_differences():
    assert (limit(TIME, 0.05), limit(ACCURACY, 1.0)) == (log(1.05), 1.0)


def test_the_median_step_is_reported_by_the_tolerance_of_the_10_percent_quantile():
    assert reported({"step_time": 0.05}) == {"step_time_median": 0.05}


def test_the_median_step_is_judged_if_it_has_its_own_tolerance():
    assert reported({"step_time": 0.05, "step_time_median": 0.1}) == {}


def test_without_a_tolerance_no_step_time_is_reported():
    assert reported({"accuracy": 1.0}) == {}


def test_only_metrics_that_do_not_depend_on_the_load_give_up_at_their_default_tolerances():
    names = ("step_time", "accuracy", "peak_rss", "leak")
    given = rules(dict.fromkeys(names, 1.0), METRICS, max_pairs=10, defaults=frozenset(names))
    assert {name for name, rule in given.items() if rule.gives_up} == {"accuracy", "peak_rss", "leak"}
    asked = rules(dict.fromkeys(names, 1.0), METRICS, max_pairs=10)
    assert not any(rule.gives_up for rule in asked.values())


# The reference spread


def test_the_spread_is_that_of_neighbours_so_that_drift_does_not_count():
    drifting = [exp(0.05 * place) for place in range(10)]
    assert reference_spread(TIME, drifting) == pytest.approx(1.4826 * 0.05)


def test_runs_that_agree_by_chance_are_no_certainty():
    assert (reference_spread(TIME, [1.0] * 10), reference_spread(MEMORY, [1.0] * 10)) == (0.003, 0.002)


def test_of_few_runs_what_is_assumed_is_the_least():
    assert reference_spread(TIME, [1.0] * 9) == reference_spread(TIME) == pytest.approx(0.015 * 2**0.5)


def test_of_few_runs_a_wider_spread_counts():
    assert reference_spread(TIME, [1.0, 1.2]) == pytest.approx(1.4826 * log(1.2))


@pytest.mark.parametrize("value", [nan, inf, 0.0])
def test_a_reference_with_a_figure_that_cannot_be_compared_is_refused(value):
    with pytest.raises(ValueError, match="comparable reference values of step_time"):
        reference_spread(TIME, [1.0] * 9 + [value])


def test_the_refusal_names_the_run_and_what_to_do():
    runs = [records.run(seed, step=nan if seed == 4 else 0.01) for seed in range(1, 11)]
    with pytest.raises(DlbenchError) as raised:
        reference_values(TIME, runs)
    assert "step_time is nan in the run of seed 4" in str(raised.value)
    assert "--dlbench-runs=10" in str(raised.value)


# Verdicts


def test_a_verdict_shows_a_ratio_of_times():
    pairs = [pair(1.0, 1.2)] * 3
    found = decide([difference(TIME, one) for one in pairs], 0.003, Rule(tolerance=log(1.05)))
    shown = verdict(TIME, pairs, found, 0.05)
    assert (shown.outcome, shown.old, shown.new, shown.change) == (
        VerdictOutcome.REGRESSED,
        pytest.approx(1.0),
        pytest.approx(1.2),
        pytest.approx(1.2),
    )


def test_a_verdict_on_throughput_shows_its_own_direction():
    pairs = [pair(1.0, 1.25)] * 3
    found = decide([difference(THROUGHPUT, one) for one in pairs], 0.003, Rule(tolerance=log(1.05)))
    shown = verdict(THROUGHPUT, pairs, found, 0.05)
    assert shown.change == pytest.approx(0.8)
    assert shown.lower < 0.8 < shown.upper


def test_pairs_after_the_decision_are_not_in_its_figures():
    pairs = [pair(1.0, 1.2)] * 3 + [pair(1.0, 9.0)] * 5
    found = decide([difference(TIME, one) for one in pairs], 0.003, Rule(tolerance=log(1.05)))
    assert verdict(TIME, pairs, found, 0.05).new == pytest.approx(1.2)


# Stalls

WORSE, BETTER, SAME, UNKNOWN = (
    decision(VerdictOutcome.REGRESSED, 0.09, 0.11),
    decision(VerdictOutcome.IMPROVED, -0.11, -0.09),
    decision(),
    decision(VerdictOutcome.INCONCLUSIVE, -0.5, 0.5),
)


@pytest.mark.parametrize(
    ("quick", "usual", "kind"),
    [
        (SAME, WORSE, "worse"),
        (BETTER, SAME, "worse"),
        (WORSE, decision(VerdictOutcome.REGRESSED, 0.4, 0.5), "worse"),
        (SAME, BETTER, "better"),
        (WORSE, SAME, "better"),
        (BETTER, decision(VerdictOutcome.IMPROVED, -0.5, -0.4), "better"),
    ],
)
def test_step_times_that_disagree_are_a_stall(quick, usual, kind):
    assert stall({"step_time": quick, "step_time_median": usual}) == kind


@pytest.mark.parametrize(
    ("quick", "usual"), [(SAME, SAME), (WORSE, WORSE), (BETTER, BETTER), (UNKNOWN, WORSE), (SAME, UNKNOWN)]
)
def test_step_times_that_agree_or_say_nothing_are_no_stall(quick, usual):
    assert stall({"step_time": quick, "step_time_median": usual}) == ""


def test_a_verdict_that_was_held_back_has_no_bounds_and_can_be_kept():
    found = verdict(TIME, [pair()] * 3, decision(VerdictOutcome.INCONCLUSIVE, -inf, inf, Reason.SPREAD), 0.05)
    assert (found.change, found.lower, found.upper) == (1.0, None, None)
    assert codec.decode(codec.encode_line(found), Verdict, "journal") == found


@pytest.mark.parametrize(("lost", "middle"), [(1, 2.0), (3, None)])
def test_a_metric_that_runs_of_the_candidate_lost_can_be_kept(lost, middle):
    perplexity = METRICS["perplexity"]
    with_it = records.run(evaluation=replace(records.evaluation(), answers="tokens", loss=log(2)))
    pairs = [Pair(old=with_it, new=with_it if place < 3 - lost else records.run()) for place in range(3)]
    found = verdict(perplexity, pairs, decide([difference(perplexity, pair) for pair in pairs], 0.1, RULE), 0.05)
    assert (found.old, found.new, found.outcome) == (2.0, middle, VerdictOutcome.INCONCLUSIVE)
    assert codec.decode(codec.encode_line(found), Verdict, "journal") == found


@pytest.mark.parametrize(
    ("old", "new", "change", "lower", "upper"),
    [
        (10.9e-3, 12.7e-3, 0.891, None, None),
        (10.9e-3, 12.7e-3, 0.891, 0.7, 1.3),
        (10e-3, 12e-3, 1.05, 1.03, 1.07),
        (10e-3, 10.1e-3, 0.996, 0.98, 1.02),
    ],
)
def test_sides_that_seem_to_contradict_the_pairs_are_found(old, new, change, lower, upper):
    shown = records.verdict(old=old, new=new, change=change, lower=lower, upper=upper)
    (found,) = disagreements([shown], METRICS)
    assert (found.metric, found.sides, found.paired) == ("step_time", pytest.approx(new / old), change)


@pytest.mark.parametrize(
    ("old", "new", "change", "lower", "upper"),
    [
        (10e-3, 12e-3, 1.18, 1.1, 1.3),
        (10e-3, 10.01e-3, 0.999, 0.98, 1.02),
        (10e-3, 10e-3, 1.0, 1.0, 1.0),
        (10e-3, 12e-3, None, None, None),
        (10e-3, nan, 0.9, 0.8, 1.1),
        (10e-3, None, 0.9, 0.8, 1.1),
        (0.0, 10e-3, 0.9, 0.8, 1.1),
    ],
)
def test_sides_that_agree_with_the_pairs_need_no_word(old, new, change, lower, upper):
    assert not disagreements([records.verdict(old=old, new=new, change=change, lower=lower, upper=upper)], METRICS)


def test_accuracies_of_sides_that_point_the_other_way_are_found_in_points():
    shown = records.verdict(metric="accuracy", old=0.90, new=0.92, change=-1.0, lower=-1.5, upper=-0.5, tolerance=1.0)
    (found,) = disagreements([shown], METRICS)
    assert found.sides == pytest.approx(2.0)


def test_a_metric_without_a_baseline_has_no_sides():
    assert not disagreements([records.verdict(metric="leak", old=0.0, new=0.1, change=10.0)], METRICS)
