"""A session compared with a stored baseline: levels, the reference session, drift, and what is stored."""

from dataclasses import replace

import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.judging import METRICS, extended, stored_baseline
from pytest_dlbench.records import CaseOutcome, MachineSpeed, VerdictOutcome
from tests.doubles import records
from tests.doubles.absolute import LOST

TIME = {"step_time": 0.05}
MEMORY = {"peak_rss": 0.02}
EIGHT = (1.0, 1.01, 0.99, 1.02, 0.98, 1.01, 1.0, 0.99)


def slower(factor):
    """Three runs whose steps take this many times ten milliseconds."""
    return records.runs(steps=(0.01 * factor,) * 3)


def larger(factor):
    return records.runs(peaks_mib=(500 * factor,) * 3)


def on_machine(factor, speed):
    """The same runs on a machine that is this many times as fast."""
    probe = MachineSpeed(threads=2, precision="float32", flops_per_second=9e10 * speed, copied_bytes_per_second=8e9)
    return tuple(replace(run, speed=probe) for run in slower(factor / speed))


def judged(factors, new, tolerances=TIME, make=slower, history=None):
    baseline = records.baseline_of(*(make(factor) for factor in factors))
    return stored_baseline.compare(baseline, make(new), tolerances, METRICS, history)


def verdict(factors, new, tolerances=TIME, make=slower):
    (found,) = judged(factors, new, tolerances, make).verdicts
    return found


# What can be detected


def narrow(factors, tolerances, **calibrated):
    stored = records.baseline_of(*(slower(factor) for factor in factors))
    return stored_baseline.narrow(stored, tolerances, calibrated, 3, METRICS)


def test_the_spread_of_sessions_determines_the_smallest_tolerance_that_they_can_keep():
    (least,) = narrow(EIGHT, TIME | {"step_time": 0.01}).values()
    assert judged(EIGHT, 1.0, {"step_time": least}).outcome is CaseOutcome.PASSED
    assert 0.05 < least < 0.06
    assert narrow(EIGHT, {"step_time": 0.06}) == {}


def test_what_is_only_assumed_of_sessions_makes_no_tolerance_too_narrow():
    assert narrow([1.0], TIME) == {}
    assert narrow([1.0], {"step_time": 0.005}).keys() == {"step_time"}


def test_calibrated_runs_tell_what_few_sessions_do_not():
    assert narrow([1.0], TIME, step_time=0.1).keys() == {"step_time"}
    assert narrow([1.0] * 5, TIME, step_time=0.1) == {}


def test_what_is_judged_run_by_run_has_a_least_tolerance_too():
    least = narrow([1.0], {"peak_rss": 0.0001, "accuracy": 0.001})
    assert least.keys() == {"peak_rss", "accuracy"}
    assert narrow([1.0], least) == {}
    assert judged([1.0], 1.0, {"peak_rss": least["peak_rss"]}).outcome is CaseOutcome.PASSED


def test_memory_that_lies_apart_makes_a_tolerance_too_narrow_once_five_sessions_say_so():
    apart = records.runs(peaks_mib=(400, 500, 600))
    baselines = [records.baseline_of(*(apart,) * count) for count in (4, 5)]
    least = [stored_baseline.narrow(baseline, {"peak_rss": 0.1}, {}, 3, METRICS) for baseline in baselines]
    assert least[0] == {}
    assert least[1]["peak_rss"] > 0.1


@pytest.mark.parametrize(
    ("mib", "tolerance", "outcome"), [(500, 0.032, CaseOutcome.PASSED), (5000, 0.02, CaseOutcome.INCONCLUSIVE)]
)
def test_of_a_small_process_memory_may_grow_by_a_larger_share(mib, tolerance, outcome):
    found = judged([mib / 500] * 5, mib / 500 * 1.012, MEMORY, larger)
    assert found.outcome is outcome
    assert [verdict.tolerance for verdict in found.verdicts] == [tolerance]


def test_runs_that_are_too_few_to_be_judged_make_no_tolerance_too_narrow():
    baseline = records.baseline_of(slower(1.0))
    least = [stored_baseline.narrow(baseline, {"peak_rss": 0.0001}, {}, runs, METRICS) for runs in (1, 3)]
    assert least[0] == least[1]


def test_what_needs_no_baseline_is_not_asked():
    assert narrow(EIGHT, {"leak": 0.001}) == {}


# Time: sessions against sessions


@pytest.mark.parametrize("sessions", [1, 2, 3, 4])
def test_fewer_than_five_sessions_suspect_a_slowdown_at_most(sessions):
    found = judged(EIGHT[:sessions], 1.5)
    assert (found.outcome, found.verdicts[0].sessions) == (CaseOutcome.SUSPECT, sessions)


@pytest.mark.parametrize("sessions", [5, 8])
def test_from_five_sessions_on_a_slowdown_is_a_regression(sessions):
    assert judged(EIGHT[:sessions], 1.5).outcome is CaseOutcome.REGRESSED


def test_eight_sessions_know_that_nothing_changed():
    assert judged(EIGHT, 1.0).outcome is CaseOutcome.PASSED


def test_a_single_session_does_not_know_that_nothing_changed():
    assert judged([1.0], 1.0).outcome is CaseOutcome.INCONCLUSIVE


def test_both_figures_have_the_ratio_that_is_shown():
    found = verdict(EIGHT, 1.5)
    assert found.new / found.old == pytest.approx(found.change)
    assert found.change == pytest.approx(1.5, abs=0.01)


def test_the_median_of_the_runs_is_the_session():
    baseline = records.baseline_of(*[records.runs()] * 8)
    found = stored_baseline.compare(baseline, records.runs(steps=(0.01, 0.01, 5.0)), TIME, METRICS)
    assert found.verdicts[0].change == pytest.approx(1.0)


def test_only_the_newest_sessions_are_judged_against():
    old = (3.0,) * 5
    assert verdict([*old, *[1.0] * stored_baseline.JUDGED_SESSIONS], 1.0).sessions == stored_baseline.JUDGED_SESSIONS


def test_a_metric_that_is_better_when_higher_is_judged_the_other_way_round():
    found = verdict(EIGHT, 1.5, {"throughput": 0.05})
    assert found.outcome is VerdictOutcome.REGRESSED
    assert found.change == pytest.approx(1 / 1.5, abs=0.01)


SPEEDS = (1.0, 1.2, 0.8, 1.1, 0.9, 1.3, 0.7, 1.0)


def of_speeds(factor, speed):
    baseline = records.baseline_of(*(on_machine(one, at) for one, at in zip(EIGHT, SPEEDS, strict=True)))
    (found,) = stored_baseline.compare(baseline, on_machine(factor, speed), TIME, METRICS).verdicts
    return found


def test_a_machine_that_is_slower_today_is_no_regression():
    found = of_speeds(1.0, 0.5)
    assert (found.outcome, found.is_corrected) == (VerdictOutcome.EQUIVALENT, True)


def test_a_regression_is_found_though_the_machine_is_faster_today():
    assert of_speeds(1.5, 1.5).outcome is VerdictOutcome.REGRESSED


def test_a_figure_that_was_corrected_is_shown_for_the_machine_of_today():
    found = of_speeds(1.0, 0.5)
    assert (found.old, found.new) == (pytest.approx(0.02, rel=0.01), pytest.approx(0.02))


def test_a_probe_that_says_nothing_of_the_step_times_corrects_nothing():
    steady = [tuple(replace(run, speed=on_machine(1, at)[0].speed) for run in slower(1.0)) for at in SPEEDS]
    (found,) = stored_baseline.compare(records.baseline_of(*steady), on_machine(1.0, 0.5), TIME, METRICS).verdicts
    assert not found.is_corrected


# Memory and accuracy: runs against runs


def test_one_session_is_enough_for_memory_to_have_regressed():
    found = verdict([1.0], 1.2, MEMORY, larger)
    assert (found.outcome, found.sessions) == (VerdictOutcome.REGRESSED, 0)


def test_more_sessions_of_one_seed_are_no_further_runs():
    once, often = (verdict([1.0] * count, 1.0, MEMORY, larger) for count in (1, 8))
    assert (often.lower, often.upper) == pytest.approx((once.lower, once.upper))


def test_an_accuracy_is_compared_with_the_mean_of_its_seed():
    sides = [records.runs(accuracies=(0.95, 0.94, accuracy)) for accuracy in (0.96, 0.94)]
    (found,) = stored_baseline.compare(records.baseline_of(*sides), sides[0], {"accuracy": 1.0}, METRICS).verdicts
    assert found.old == pytest.approx((0.95 + 0.94 + 0.95) / 3)


# Levels


def accepted(factors, level, metric="step_time", make=slower):
    """A baseline in which the session at the place ``level`` was saved although the metric had changed."""
    baseline = records.baseline_of(*(make(factor) for factor in factors))
    sessions = [
        replace(session, accepted=(metric,) if place == level else ())
        for place, session in enumerate(baseline.sessions)
    ]
    return replace(baseline, sessions=tuple(sessions))


def test_an_accepted_change_begins_a_level_of_its_own():
    found = stored_baseline.compare(accepted([1.0] * 8 + [1.5], 8), slower(1.5), TIME, METRICS).verdicts[0]
    assert (found.sessions, found.change) == (1, pytest.approx(1.0))


def test_a_change_of_another_metric_leaves_the_level_as_it_is():
    found = stored_baseline.compare(accepted([1.0] * 9, 8, "peak_rss"), slower(1.0), TIME, METRICS).verdicts[0]
    assert found.sessions == 9


def test_metrics_that_changed_are_accepted_by_saving():
    outcomes = {
        "step_time": VerdictOutcome.SUSPECT,
        "peak_rss": VerdictOutcome.IMPROVED,
        "accuracy": VerdictOutcome.EQUIVALENT,
        "throughput": VerdictOutcome.INCONCLUSIVE,
        "latency": VerdictOutcome.REGRESSED,
    }
    verdicts = [records.verdict(metric=metric, outcome=outcome) for metric, outcome in outcomes.items()]
    assert stored_baseline.changed(verdicts) == ("step_time", "peak_rss", "latency")


# The reference session


def slips(count):
    """Sessions each two percent slower than the one before."""
    return [1.02**place for place in range(count)]


def test_ten_accepted_slips_of_two_percent_are_reported_as_what_they_add_up_to():
    *before, new = slips(11)
    found = judged(before, new)
    (since,) = found.since_anchor
    assert found.verdicts[0].outcome is not VerdictOutcome.REGRESSED
    assert (since.outcome, since.change) == (VerdictOutcome.SUSPECT, pytest.approx(1.02**10))
    assert found.outcome is CaseOutcome.SUSPECT


def test_slips_of_memory_are_reported_as_what_they_add_up_to():
    *before, new = [1.01**place for place in range(11)]
    (since,) = judged(before, new, MEMORY, larger).since_anchor
    assert (since.outcome, since.change) == (VerdictOutcome.SUSPECT, pytest.approx(1.01**10, rel=1e-5))


def test_slips_in_levels_of_their_own_are_reported_as_what_they_add_up_to():
    *before, new = [1.1**place for place in range(4)]
    (since,) = stored_baseline.compare(accepted(before, 2), slower(new), TIME, METRICS).since_anchor
    assert (since.outcome, since.change) == (VerdictOutcome.SUSPECT, pytest.approx(1.1**3))


def test_a_reference_session_that_is_the_only_one_is_reported_once():
    assert judged([1.0], 1.5).since_anchor == ()


def test_what_got_better_since_the_reference_session_is_no_finding():
    found = judged([1.5, *EIGHT], 1.0)
    assert found.since_anchor[0].outcome is VerdictOutcome.IMPROVED
    assert found.outcome is CaseOutcome.INCONCLUSIVE


def test_the_chosen_reference_session_is_the_one_that_counts():
    *before, new = slips(11)
    baseline = records.baseline_of(*map(slower, before))
    moved = replace(baseline, anchor=baseline.sessions[-1].id)
    assert stored_baseline.compare(moved, slower(new), TIME, METRICS).since_anchor[0].change == pytest.approx(1.02)


# Drift

CLEAN = (1.0, 1.01, 0.99, 1.02, 0.98) * 6


def test_three_nights_of_ten_percent_more_are_a_drift_of_three_sessions():
    assert judged([*CLEAN, 1.1, 1.1], 1.1).drifting == {"step_time": 3}


def test_a_drift_is_suspect():
    wide = {"step_time": 0.5}
    found = judged([*CLEAN, 1.1, 1.1], 1.1, wide)
    assert (found.verdicts[0].outcome, found.outcome) == (VerdictOutcome.EQUIVALENT, CaseOutcome.SUSPECT)


def test_one_bad_night_is_no_drift():
    assert judged([*CLEAN, 1.0, 1.5], 1.0).drifting == {}


def test_a_history_that_is_longer_than_the_baseline_is_looked_at_instead():
    medians = {"step_time": [0.01 * factor for factor in (*CLEAN, 1.1, 1.1)]}
    assert judged(EIGHT, 1.1, history=medians).drifting == {"step_time": 3}
    assert judged(EIGHT, 1.1, history={"step_time": [0.01]}).drifting == {}


# What is kept


def grown(count):
    """A baseline with this many sessions."""
    baseline = None
    for number in range(count):
        session = records.baseline_session(name=f"s{number}")
        baseline = stored_baseline.appended(baseline, records.record(), session)
    return baseline


def test_the_first_session_is_the_reference():
    assert grown(3).anchor == "s0"


def test_the_oldest_sessions_are_dropped_but_not_the_reference_session():
    names = [session.id for session in grown(stored_baseline.MOST_SESSIONS + 3).sessions]
    assert names == ["s0", *(f"s{number}" for number in range(4, stored_baseline.MOST_SESSIONS + 3))]


def test_a_session_keeps_medians_of_all_metrics_and_runs_of_exact_ones():
    session = records.baseline_session(records.runs(steps=(0.01, 0.03, 0.02), accuracies=(0.9, 0.91, 0.92)))
    assert session.medians["step_time"] == pytest.approx(0.02)
    assert session.values["accuracy"] == (0.9, 0.91, 0.92)
    assert "step_time" not in session.values


# Too good to be true


@pytest.mark.parametrize("sessions", [(1.0,), EIGHT])
@pytest.mark.parametrize("tolerance", [0.05, 5.0])
def test_a_gain_of_more_than_three_times_is_suspect(sessions, tolerance):
    for gain in (3.5, 165.0):
        assert verdict(sessions, 1 / gain, {"step_time": tolerance}).outcome is VerdictOutcome.SUSPECT


def test_a_gain_of_up_to_three_times_is_believed():
    assert verdict(EIGHT, 1 / 2.9).outcome is VerdictOutcome.IMPROVED


def test_a_third_of_the_memory_is_suspect_too():
    assert verdict(EIGHT, 0.3, MEMORY, larger).outcome is VerdictOutcome.SUSPECT


def test_a_throughput_of_more_than_three_times_is_suspect():
    found = verdict(EIGHT, 0.25, {"throughput": 0.05})
    assert (found.outcome, found.change) == (VerdictOutcome.SUSPECT, pytest.approx(4, rel=0.02))


def test_a_suspicion_that_is_only_a_gain_is_told_from_a_slowdown():
    gain = judged(EIGHT, 0.1)
    assert (gain.outcome, gain.is_slower({"step_time"})) == (CaseOutcome.SUSPECT, False)
    assert judged((1.0,), 1.5).is_slower(set())


# Two branches


def named(session, name, saved):
    return replace(session, id=name, saved=f"2026-11-{saved:02}T10:00:00+00:00")


def branch(*added, **changes):
    """The first session, and those that a branch has added: pairs of a name and a day."""
    first = named(records.baseline_session(), "first", 1)
    more = tuple(named(records.baseline_session(), name, day) for name, day in added)
    return records.baseline(anchor="first", sessions=(first, *more), **changes)


def test_a_merge_keeps_the_sessions_of_both_sides_in_the_order_of_their_times():
    found = stored_baseline.merged(branch(("a", 2), ("b", 4)), branch(("c", 3)))
    assert [session.id for session in found.sessions] == ["first", "a", "c", "b"]


def test_a_merge_keeps_the_reference_session_of_the_first_side():
    ours, theirs = branch(("a", 2)), branch(("c", 3))
    assert stored_baseline.merged(replace(ours, anchor="a"), theirs).anchor == "a"


def test_a_merge_has_the_recipe_of_the_newest_session():
    ours, theirs = branch(("a", 2), recipe={"epochs": 1}), branch(("c", 3), recipe={"epochs": 2})
    for first, second in ((ours, theirs), (theirs, ours)):
        assert stored_baseline.merged(first, second).recipe == {"epochs": 2}


def test_two_sessions_with_one_name_stay_two():
    other = replace(branch(("a", 2)), sessions=(*branch().sessions, named(records.baseline_session(larger(2)), "a", 2)))
    found = stored_baseline.merged(branch(("a", 2)), other)
    assert [session.id for session in found.sessions] == ["first", "a", "a-2"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"case": records.case("another")}, "case"), ({"context": records.context(batch_size=8)}, "batch size")],
)
def test_sides_of_different_cases_or_conditions_are_not_merged(changes, what):
    with pytest.raises(FileFormatError, match=f"the two sides differ in {what}: keep one of them"):
        stored_baseline.merged(branch(), branch(**changes))


@pytest.mark.parametrize(
    ("metric", "value"),
    [("step_time", 1e9), ("peak_rss", 1e19), ("accuracy", 1.5), ("accuracy", -0.1), ("throughput", -1.0)],
)
def test_a_stored_figure_that_is_impossible_in_its_unit_is_damage(metric, value):
    session = records.baseline_session()
    odd = replace(session, medians=session.medians | {metric: value})
    with pytest.raises(FileFormatError, match=f"{metric} is .* in the session"):
        stored_baseline.check(records.baseline(sessions=(odd,)), records.runs(), {metric: 0.05}, METRICS)


@pytest.mark.parametrize(("tolerance", "names"), [(1.0, ("lost",)), (2.0, ())])
def test_an_absolute_metric_that_no_run_has_any_more_is_missing_where_somebody_asked_for_it(tolerance, names):
    known, had = extended(METRICS, [LOST]), [replace(run, hooked={"lost": 0.0}) for run in records.runs()]
    baseline, asked = records.baseline(had), {"lost": tolerance}
    assert stored_baseline.missing(baseline, records.runs(), asked, known) == names
    assert stored_baseline.missing(baseline, [*had[:2], *records.runs()[2:]], asked, known) == ()


# How many cases a session has, and what would decide one


def test_what_is_worse_in_one_of_many_cases_is_a_suspicion():
    baseline = records.baseline_of(*(slower(factor**2) for factor in EIGHT))

    def outcome(cases):
        return stored_baseline.compare(baseline, slower(1.14), TIME, METRICS, cases=cases).outcome

    assert (outcome(1), outcome(100)) == (CaseOutcome.REGRESSED, CaseOutcome.SUSPECT)


def test_an_undecided_metric_has_the_tolerance_that_its_history_resolves():
    found = judged(EIGHT, 1.03)
    (one,) = found.undecided
    assert found.outcome is CaseOutcome.INCONCLUSIVE
    assert judged(EIGHT, 1.03, {"step_time": one.resolved + 0.001}).outcome is CaseOutcome.PASSED
    assert judged(EIGHT, 1.0).undecided == ()


def test_stored_runs_of_memory_count_though_they_repeat_seeds():
    sessions = [records.runs(peaks_mib=[500 + 2 * ((7 * place + seed) % 5) for seed in range(3)]) for place in range(8)]
    new, widths = records.runs(peaks_mib=(503, 505, 504)), []
    for stored in (sessions[:1], sessions):
        (found,) = stored_baseline.compare(records.baseline_of(*stored), new, MEMORY, METRICS).verdicts
        widths.append(found.upper - found.lower)
    assert widths[1] < 0.9 * widths[0]
