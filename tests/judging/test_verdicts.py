import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.errors import DlbenchError, FileFormatError
from pytest_dlbench.judging import METRICS, parse_tolerances, read_all
from pytest_dlbench.judging.stored_baseline import compare
from pytest_dlbench.records import VerdictOutcome
from tests.doubles import records

DEFAULTS = parse_tolerances([], "--dlbench-tolerance", METRICS)
REGRESSED, SUSPECT, IMPROVED, EQUIVALENT, INCONCLUSIVE = (
    VerdictOutcome.REGRESSED,
    VerdictOutcome.SUSPECT,
    VerdictOutcome.IMPROVED,
    VerdictOutcome.EQUIVALENT,
    VerdictOutcome.INCONCLUSIVE,
)


def judged(old, new, tolerances=DEFAULTS):
    """Verdicts by metric, of runs against the baseline of other runs."""
    return {verdict.metric: verdict for verdict in compare(records.baseline(old), new, tolerances, METRICS).verdicts}


def outcome(metric, old, new, tolerances=DEFAULTS):
    return judged(old, new, tolerances)[metric].outcome


def with_metric(name, *values):
    session = records.baseline_session()
    medians = {**session.medians, name: values[len(values) // 2]}
    kept = {**session.values, name: values} if METRICS[name].is_exact else session.values
    return replace(records.baseline(), sessions=(replace(session, medians=medians, values=kept),))


# Worse


def test_half_slower_than_one_session_is_suspect():
    assert outcome("step_time", records.runs(), records.runs(steps=(0.015,) * 3)) is SUSPECT


def test_five_points_less_accuracy_with_every_seed_is_a_regression():
    old = records.runs(accuracies=(0.95, 0.94, 0.96))
    new = records.runs(accuracies=(0.90, 0.89, 0.91))
    assert outcome("accuracy", old, new) is REGRESSED


def test_a_fifth_more_memory_is_a_regression():
    assert outcome("peak_rss", records.runs(), records.runs(peaks_mib=(600, 600, 600))) is REGRESSED


def test_half_the_throughput_of_one_session_is_suspect():
    tolerances = {"throughput": 0.05}
    assert outcome("throughput", records.runs(), records.runs(steps=(0.02,) * 3), tolerances) is SUSPECT


# Better


def test_half_the_time_is_an_improvement():
    assert outcome("step_time", records.runs(), records.runs(steps=(0.005,) * 3)) is IMPROVED


def test_five_points_more_accuracy_is_an_improvement():
    assert outcome("accuracy", records.runs(), records.runs(accuracies=(1.0, 1.0, 1.0))) is IMPROVED


def test_a_fifth_less_memory_is_an_improvement():
    assert outcome("peak_rss", records.runs(), records.runs(peaks_mib=(400, 400, 400))) is IMPROVED


def test_twice_the_throughput_is_an_improvement():
    tolerances = {"throughput": 0.05}
    assert outcome("throughput", records.runs(), records.runs(steps=(0.005,) * 3), tolerances) is IMPROVED


# The same


@pytest.mark.parametrize("metric", ["accuracy", "peak_rss"])
def test_identical_figures_are_equivalent(metric):
    assert outcome(metric, records.runs(), records.runs()) is EQUIVALENT


@pytest.mark.parametrize("metric", sorted(DEFAULTS.keys() & read_all(records.runs()).keys()))
def test_identical_figures_show_no_change(metric):
    verdict = judged(records.runs(), records.runs())[metric]
    assert verdict.change == pytest.approx(0.0 if metric == "accuracy" else 1.0)


# Neither


def test_one_half_failed_seed_of_three_is_not_equivalent():
    old = records.runs(accuracies=(0.95, 0.95, 0.95))
    new = records.runs(accuracies=(0.95, 0.95, 0.55))
    assert outcome("accuracy", old, new) in (REGRESSED, INCONCLUSIVE)


def test_one_seed_of_three_that_lost_three_points_is_not_equivalent():
    new = records.runs(accuracies=(0.95, 0.95, 0.92))
    assert outcome("accuracy", records.runs(), new) in (REGRESSED, INCONCLUSIVE)


def test_one_run_of_three_with_twice_the_memory_is_not_equivalent():
    assert outcome("peak_rss", records.runs(), records.runs(peaks_mib=(500, 500, 1000))) is INCONCLUSIVE


def test_a_slowdown_at_the_tolerance_is_inconclusive():
    assert outcome("step_time", records.runs(), records.runs(steps=(0.0105,) * 3)) is INCONCLUSIVE


# What a verdict says


def test_the_ratio_is_new_by_old():
    assert judged(records.runs(), records.runs(steps=(0.013,) * 3))["step_time"].change == pytest.approx(1.3)


def test_the_figures_of_both_sides_have_the_ratio_that_is_shown():
    verdict = judged(records.runs(steps=(0.010, 0.011, 0.0105)), records.runs(steps=(0.011, 0.02, 0.011)))["step_time"]
    assert verdict.new / verdict.old == pytest.approx(verdict.change)


def test_the_change_of_accuracy_is_in_points():
    assert judged(records.runs(), records.runs(accuracies=(0.90,) * 3))["accuracy"].change == pytest.approx(-5)


def test_seeds_that_all_give_the_same_again_are_equivalent():
    # The spread between seeds is 10 points, and says nothing of runs that were repeated to the last digit.
    old = records.runs(accuracies=(0.70, 0.80, 0.90))
    assert outcome("accuracy", old, records.runs(accuracies=(0.70, 0.80, 0.90))) is EQUIVALENT


def test_the_order_of_the_runs_does_not_matter():
    old, new = records.runs(accuracies=(0.70, 0.80, 0.90)), records.runs(accuracies=(0.71, 0.80, 0.89))
    there, back = judged(old, new)["accuracy"], judged(old, new[::-1])["accuracy"]
    assert (there.lower, there.upper) == pytest.approx((back.lower, back.upper))


def test_some_seeds_that_give_the_same_again_are_compared_with_theirs():
    new = records.runs(accuracies=(0.70, 0.80, 0.90))
    verdict = judged((*new, records.run(4, accuracy=0.10)), new)["accuracy"]
    assert (verdict.outcome, verdict.change) == (EQUIVALENT, 0)
    assert verdict.old == verdict.new == pytest.approx(0.80)


def test_no_new_run_is_excluded_because_its_seed_is_new():
    old = records.runs(accuracies=(0.95, 0.95, 0.95))
    failed = (records.run(4, accuracy=0.10), records.run(5, accuracy=0.10))
    verdict = judged(old, (*old, *failed))["accuracy"]
    assert verdict.outcome is not EQUIVALENT
    assert verdict.change == pytest.approx(-34)


def test_two_seeds_that_both_sides_have_are_too_few_to_be_compared_with_themselves():
    old = records.runs(accuracies=(0.70, 0.80, 0.90))
    assert outcome("accuracy", old, (*old[1:], records.run(4, accuracy=0.70))) is INCONCLUSIVE


def test_the_difference_of_two_runs_is_assumed_to_spread_more_than_one_of_them():
    verdict = judged(records.runs(), records.runs())["accuracy"]
    # Variance 4·2·0.28²/6 of a difference, three of them, t of 6 degrees at 97.5 %.
    assert verdict.upper == pytest.approx(2.4469 * math.sqrt(4 * 2 * 0.28**2 / 6 / 3), rel=1e-4)


def test_seeds_of_both_sides_are_no_pairs():
    # The same single seed on each side: the spread of seeds is part of the interval nevertheless.
    old = records.runs(accuracies=(0.70, 0.80, 0.90))
    new = records.runs(accuracies=(0.701, 0.801, 0.901))
    assert outcome("accuracy", old, new) is INCONCLUSIVE


def test_an_accuracy_that_is_surely_no_worse_is_equivalent_although_it_may_be_better():
    verdict = judged(records.runs(), records.runs(accuracies=(0.96, 0.962, 0.961)))["accuracy"]
    assert verdict.outcome is EQUIVALENT
    assert verdict.upper > 1.0


def test_other_seeds_are_compared_as_groups():
    old = records.runs(accuracies=(0.70, 0.80, 0.90))
    new = tuple(records.run(seed, accuracy=accuracy) for seed, accuracy in ((4, 0.70), (5, 0.80), (6, 0.90)))
    assert outcome("accuracy", old, new) is INCONCLUSIVE


def test_another_number_of_runs_can_be_compared():
    assert outcome("accuracy", records.runs(), (*records.runs(), records.run(4))) is EQUIVALENT


def test_every_metric_with_a_tolerance_has_a_verdict():
    tolerances = parse_tolerances(["throughput:5%", "first_step:50%"], "--dlbench-tolerance", METRICS)
    of_training = {name for name in tolerances if METRICS[name].purpose in (None, "training")}
    assert set(judged(records.runs(), records.runs(), tolerances)) == of_training - {"leak"}


def test_a_latency_is_judged_as_a_step_time_is():
    old = with_metric("latency", 0.1, 0.1, 0.1)
    slower = [replace(records.inferred((0.5, 0.2, 0.2)), seed=seed) for seed in old.sessions[0].seeds]
    (verdict,) = compare(old, slower, {"latency": 0.05, "step_time": 0.05}, METRICS).verdicts
    assert verdict.outcome is SUSPECT


def test_the_tolerance_decides():
    slower = records.runs(steps=(0.012,) * 3)
    found = [outcome("step_time", records.runs(), slower, {"step_time": amount}) for amount in (0.05, 0.5)]
    assert found == [SUSPECT, EQUIVALENT]


@given(
    st.lists(st.floats(min_value=1e-4, max_value=10), min_size=3, max_size=3),
    st.lists(st.floats(min_value=1e-4, max_value=10), min_size=3, max_size=3),
    st.floats(min_value=1e-3, max_value=1e3),
)
@settings(deadline=None, max_examples=40)
def test_the_unit_of_time_does_not_matter(old, new, factor):
    plain = judged(records.runs(steps=old), records.runs(steps=new))["step_time"]
    scaled = judged(
        records.runs(steps=[factor * step for step in old]), records.runs(steps=[factor * step for step in new])
    )["step_time"]
    assert (scaled.lower, scaled.upper) == pytest.approx((plain.lower, plain.upper), rel=1e-6)


@given(
    st.lists(st.floats(min_value=1e-4, max_value=10), min_size=3, max_size=3),
    st.lists(st.floats(min_value=1e-4, max_value=10), min_size=3, max_size=3),
)
@settings(deadline=None, max_examples=40)
def test_time_and_throughput_agree(old, new):
    tolerances = {"step_time": 0.05, "throughput": 0.05}
    found = judged(records.runs(steps=old), records.runs(steps=new), tolerances)
    assert found["throughput"].change == pytest.approx(1 / found["step_time"].change, rel=1e-6)
    assert found["throughput"].outcome is found["step_time"].outcome


# What cannot be judged is never fine


@pytest.mark.parametrize("bad", [0.0, -0.01, math.nan, math.inf])
def test_a_baseline_with_a_time_that_is_none_cannot_be_compared_with(bad):
    with pytest.raises(FileFormatError, match="step_time"):
        compare(with_metric("step_time", 0.01, bad, 0.01), records.runs(), DEFAULTS, METRICS)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_baseline_with_an_accuracy_that_is_none_cannot_be_compared_with(bad):
    with pytest.raises(FileFormatError, match="accuracy"):
        compare(with_metric("accuracy", 0.9, bad, 0.9), records.runs(), DEFAULTS, METRICS)


def test_a_baseline_from_which_a_judged_metric_may_have_been_deleted_cannot_be_compared_with():
    session = records.baseline_session()
    medians = {name: value for name, value in session.medians.items() if name != "step_time"}
    without = replace(records.baseline(), sessions=(replace(session, medians=medians),), format=2)
    with pytest.raises(FileFormatError, match="step_time"):
        compare(without, records.runs(), DEFAULTS, METRICS)


def test_a_baseline_without_the_runs_of_an_exact_metric_cannot_be_compared_with():
    session = records.baseline_session()
    without = replace(records.baseline(), sessions=(replace(session, values={}),))
    with pytest.raises(FileFormatError, match="accuracy"):
        compare(without, records.runs(), DEFAULTS, METRICS)


def test_a_baseline_that_cannot_be_compared_with_says_what_to_do():
    with pytest.raises(FileFormatError, match="--dlbench-save"):
        compare(with_metric("step_time", 0.0, 0.0, 0.0), records.runs(), DEFAULTS, METRICS)


@pytest.mark.parametrize("bad", [-0.01, math.nan])
def test_a_run_with_a_time_that_is_none_cannot_be_compared(bad):
    with pytest.raises(DlbenchError, match=r"step_time.*seed 2"):
        compare(records.baseline(), records.runs(steps=(0.01, bad, 0.01)), {"step_time": 0.05}, METRICS)


def test_a_run_too_short_for_the_clock_of_cpu_time_has_no_ratio_of_it():
    idle = records.run(4, usage={"train": records.usage(user_seconds=0.0, system_seconds=0.0)})
    with pytest.raises(DlbenchError, match=r"cpu_use.*seed 4"):
        compare(records.baseline(), [*records.runs(), idle], {"cpu_use": 0.1}, METRICS)


def test_an_accuracy_of_nothing_can_be_compared():
    assert outcome("accuracy", records.runs(), records.runs(accuracies=(0, 0, 0))) is REGRESSED


@pytest.mark.parametrize("name", [name for name in read_all(records.runs()) if METRICS[name].kind == "ratio"])
def test_every_ratio_metric_of_all_models_can_be_judged(name):
    assert outcome(name, records.runs(), records.runs(), {name: 0.9}) is EQUIVALENT


def test_a_metric_that_the_runs_do_not_have_is_not_judged():
    assert compare(records.baseline(), records.runs(), {"perplexity": 0.1}, METRICS).verdicts == ()
