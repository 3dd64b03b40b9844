"""One number per session: prediction intervals, the reference session, and drift."""

from math import inf, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.judging.sessions import (
    SessionFigure,
    SessionSpread,
    against_reference,
    against_sessions,
    change_points,
    drift,
    sessions_needed,
)
from pytest_dlbench.records import VerdictOutcome

TOLERANCE = log(1.05)
SPREAD = SessionSpread(assumed=0.02, smallest=0.003)
EIGHT = (0.0, 0.01, -0.01, 0.02, -0.02, 0.01, 0.0, -0.01)

values = st.lists(st.floats(min_value=-0.1, max_value=0.1), min_size=1, max_size=10)
numbers = st.floats(min_value=-1, max_value=1)


def figures(stored, controls=None):
    return [
        SessionFigure(value=value, control=probe)
        for value, probe in zip(stored, controls or [None] * len(stored), strict=True)
    ]


def against(stored, new, *, controls=None, probe=None, **changes):
    new = SessionFigure(value=new, control=probe)
    return against_sessions(figures(stored, controls), new, **{"spread": SPREAD, "tolerance": TOLERANCE, **changes})


def since_anchor(anchor, stored, new):
    return against_reference(
        SessionFigure(value=anchor), figures(stored), SessionFigure(value=new), spread=SPREAD, tolerance=TOLERANCE
    )


def ends(found):
    return (found.change.estimate, found.change.lower, found.change.upper)


# By hand


def test_eight_sessions_have_the_prediction_interval_of_the_textbook():
    # Mean 0, sum of squares 0.0012, sd √(0.0012/7) = 0.0130931, t of 7 degrees at 95 % 1.894579, √(1 + 1/8).
    width = 1.894579 * 0.0130931 * sqrt(9 / 8)
    assert ends(against(EIGHT, 0.03)) == pytest.approx((0.03, 0.03 - width, 0.03 + width), abs=1e-6)


def test_one_session_knows_only_what_is_assumed():
    # sd 0.02 with 4 degrees of freedom: 2.131847 at 95 %.
    assert against([0.0], 0.0).change.upper == pytest.approx(2.131847 * 0.02 * sqrt(2), abs=1e-7)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (0.0, VerdictOutcome.EQUIVALENT),
        (TOLERANCE, VerdictOutcome.INCONCLUSIVE),
        (0.2, VerdictOutcome.REGRESSED),
        (-0.2, VerdictOutcome.IMPROVED),
    ],
)
def test_what_eight_sessions_say(new, expected):
    assert against(EIGHT, new).outcome is expected


@pytest.mark.parametrize("sessions", [1, 2, 3, 4])
def test_fewer_than_five_sessions_suspect_at_most(sessions):
    assert against(EIGHT[:sessions], 0.5).outcome is VerdictOutcome.SUSPECT


def test_five_sessions_may_say_that_it_regressed():
    assert against(EIGHT[:5], 0.5).outcome is VerdictOutcome.REGRESSED


def test_sessions_that_agree_by_chance_are_no_certainty():
    assert against([0.0] * 5, 0.0).change.upper > SPREAD.smallest


def test_machine_speed_is_factored_out():
    probes = [0.05, -0.04, 0.03, -0.02, 0.01]
    found = against(probes, 0.3, controls=probes, probe=0.3)
    assert (found.outcome, found.is_corrected) == (VerdictOutcome.EQUIVALENT, True)


def test_machine_speed_that_one_session_lacks_is_not_factored_out():
    assert not against([0.0] * 5, 0.0, controls=[0.0] * 4 + [None], probe=0.0).is_corrected


def test_no_session_at_all_is_refused():
    with pytest.raises(ValueError, match="one stored session"):
        against([], 0.0)


# Laws


@given(values, numbers)
@settings(deadline=None)
def test_swapping_better_and_worse_mirrors_the_interval(stored, new):
    there, back = against(stored, new), against([-value for value in stored], -new)
    assert ends(back) == pytest.approx((-there.change.estimate, -there.change.upper, -there.change.lower))


@given(values, numbers, numbers)
@settings(deadline=None)
def test_another_machine_of_the_same_spread_changes_nothing(stored, new, shift):
    moved = against([value + shift for value in stored], new + shift)
    assert ends(moved) == pytest.approx(ends(against(stored, new)), abs=1e-9)


@given(values.flatmap(lambda stored: st.tuples(st.just(stored), st.permutations(stored))), numbers)
@settings(deadline=None)
def test_the_order_of_the_stored_sessions_does_not_matter(drawn, new):
    one, other = drawn
    assert ends(against(other, new)) == pytest.approx(ends(against(one, new)))


@given(values, numbers, st.sampled_from([nan, inf, -inf]), st.data())
@settings(deadline=None)
def test_what_is_no_number_never_passes(stored, new, odd, data):
    place = data.draw(st.integers(min_value=0, max_value=len(stored)))
    everything = [*stored, new]
    everything[place] = odd
    assert against(everything[:-1], everything[-1]).outcome is VerdictOutcome.INCONCLUSIVE


# Error rates: 4,000 histories are good to ± 0.7 points at 5 % (two standard errors)


def rate(wanted, *, sessions, change):
    random = np.random.default_rng(11)
    histories = random.normal(0, 0.015, (4000, sessions + 1))
    histories[:, -1] += change
    return np.mean([against(row[:-1], row[-1]).outcome is wanted for row in histories])


@pytest.mark.parametrize("sessions", [5, 8])
def test_a_change_at_the_tolerance_is_called_regressed_as_rarely_as_promised(sessions):
    assert rate(VerdictOutcome.REGRESSED, sessions=sessions, change=TOLERANCE) <= 0.05 + 0.01


@pytest.mark.parametrize("sessions", [1, 4])
def test_a_change_at_the_tolerance_is_suspected_as_rarely_as_promised_where_the_assumption_is_right(sessions):
    assert rate(VerdictOutcome.SUSPECT, sessions=sessions, change=TOLERANCE) <= 0.05 + 0.01


# The reference session


def test_ten_accepted_slips_of_two_percent_are_reported_as_what_they_add_up_to():
    slips = [0.02 * place for place in range(1, 10)]
    found = since_anchor(0.0, slips, 0.2)
    assert (found.outcome, found.change.estimate) == (VerdictOutcome.SUSPECT, pytest.approx(0.2))


def test_without_the_reference_session_each_slip_passes_unnoticed():
    assert against([0.02 * place for place in range(1, 10)], 0.2).outcome is not VerdictOutcome.REGRESSED


def test_slips_between_sessions_hardly_widen_what_is_known_of_their_spread():
    # Neighbours differ by 0.02, though the nine lie 0.16 apart.
    found = since_anchor(0.0, [0.02 * place for place in range(1, 10)], 0.2)
    assert found.change.upper - found.change.estimate < 0.05


def test_a_reference_session_without_others_knows_what_is_assumed():
    assert since_anchor(0.0, [], 0.0).change.upper == pytest.approx(2.131847 * 0.02 * sqrt(2), abs=1e-7)


def test_the_same_figure_as_the_reference_session_is_equivalent():
    assert since_anchor(0.0, [value / 2 for value in EIGHT], 0.0).outcome is VerdictOutcome.EQUIVALENT


# Drift

# Median 0, MAD 1 % of which the robust deviation is 1.4826 %, and 0.3 % more: 1.7826 %.
REFERENCE = [-0.02, -0.01, 0.0, 0.01, 0.02] * 6


def test_sums_are_of_deviations_beyond_one():
    found = drift([*REFERENCE, 2 * 0.017826, 2 * 0.017826, 0.0])
    assert found.sums == pytest.approx((1.0, 2.0, 1.0), abs=1e-5)


def test_one_bad_night_is_no_alarm():
    assert drift([*REFERENCE, 5.0, *[0.0] * 5]).alarms == ()


def test_three_bad_nights_are_an_alarm():
    found = drift([*REFERENCE, 0.1, 0.1, 0.1])
    assert (found.alarms, found.is_suspect) == ((32,), True)


def test_a_series_that_came_back_is_no_suspect():
    found = drift([*REFERENCE, *[0.1] * 3, *[-0.1] * 5])
    assert found.alarms
    assert not found.is_suspect


def test_thirty_sessions_say_nothing():
    assert drift(REFERENCE).sums == ()


def test_sessions_that_are_no_number_are_bad_ones():
    assert drift([*REFERENCE, nan, inf, nan]).is_suspect


def test_a_reference_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="must be finite"):
        drift([nan, *REFERENCE])


def test_a_drift_that_goes_on_is_as_long_as_the_sum_has_not_been_zero():
    assert drift([*REFERENCE, *[0.0] * 5, 0.1, 0.1, 0.1]).latest == 3


def places(series):
    return [(point.began, point.detected) for point in change_points(series)]


def test_a_change_point_is_where_the_level_begins_and_not_where_it_is_reported():
    assert places([*REFERENCE, 0.0, 0.0, *[0.1] * 5]) == [(32, 34)]


def test_a_change_for_the_better_is_a_change_point_too():
    (point,) = change_points([*REFERENCE, *[-0.1] * 5])
    assert point.change == pytest.approx(-0.1)


def test_after_a_change_point_its_own_level_is_the_reference():
    raised = [value + 0.1 for value in REFERENCE]
    assert places([*REFERENCE, *raised, *[0.3] * 5]) == [(30, 32), (60, 62)]


def test_a_steady_series_has_no_change_point():
    assert places(REFERENCE * 5) == []


@given(st.lists(st.floats(min_value=-0.1, max_value=0.1), max_size=100))
@settings(deadline=None)
def test_turning_better_into_worse_mirrors_the_change_points(series):
    there, back = (change_points([sign * value for value in series]) for sign in (1, -1))
    assert [(point.began, point.detected) for point in there] == [(point.began, point.detected) for point in back]
    assert [point.change for point in there] == pytest.approx([-point.change for point in back])


def nightly(random, change):
    """Forty clean nights with 1.5 % noise, 2 % of them outliers, and ten after a change."""
    series = random.normal(0, 0.015, 50) + np.where(random.random(50) < 0.02, random.uniform(0.1, 0.5, 50), 0)
    series[40:] += change
    return drift(series)


def test_a_clean_history_is_hardly_ever_an_alarm():
    random = np.random.default_rng(3)
    assert np.mean([bool(nightly(random, 0.0).alarms) for _ in range(1000)]) <= 0.01


def test_ten_percent_are_found_within_three_nights():
    random = np.random.default_rng(4)
    assert all(min(nightly(random, log(1.1)).alarms) < 43 for _ in range(300))


# Many cases


def test_a_regression_of_one_case_is_a_suspicion_among_a_hundred():
    assert against(EIGHT, 0.09).outcome is VerdictOutcome.REGRESSED
    assert against(EIGHT, 0.09, cases=100).outcome is VerdictOutcome.REGRESSED
    assert against(EIGHT, 0.08, cases=2000).outcome is VerdictOutcome.SUSPECT
    wide = [2 * value for value in EIGHT]
    assert [against(wide, 0.13, cases=cases).outcome for cases in (1, 100)] == [
        VerdictOutcome.REGRESSED,
        VerdictOutcome.SUSPECT,
    ]


# What history would decide


def test_more_sessions_decide_what_their_spread_resolves():
    undecided = against(EIGHT[:5], 0.018)
    assert undecided.outcome is VerdictOutcome.INCONCLUSIVE
    needed = sessions_needed(undecided, TOLERANCE, 10)
    assert 5 < needed <= 10
    assert sessions_needed(undecided, TOLERANCE, needed - 1) is None


def test_no_number_of_sessions_decides_what_lies_at_the_tolerance():
    assert sessions_needed(against(EIGHT, TOLERANCE), TOLERANCE, 10) is None
