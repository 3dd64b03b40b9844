"""What runs of one version say of the gate."""

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.judging import METRICS, calibration
from pytest_dlbench.judging.pairs import Pair
from pytest_dlbench.judging.sequential import Rule
from tests.doubles import records

STEP_TIME = METRICS["step_time"]
RULE = Rule(tolerance=log(1.05), alpha=0.0025)


def pairs(*steps):
    return [Pair(old=records.run(step=old), new=records.run(step=new)) for old, new in steps]


def test_runs_come_in_the_order_in_which_they_were_run():
    found = calibration.in_order(pairs((1.0, 2.0), (3.0, 4.0)), [True, False])
    assert [STEP_TIME.figure(run) for run in found] == [2.0, 1.0, 3.0, 4.0]


def test_ten_quiet_runs_narrow_what_is_assumed():
    few, ten = (pairs(*[(0.01, 0.01001)] * count) for count in (4, 5))
    assumed, measured = (calibration.spreads(one, [False] * len(one), [STEP_TIME])["step_time"] for one in (few, ten))
    assert assumed == pytest.approx(2**0.5 * STEP_TIME.run_sd)
    assert measured < assumed / 3


@settings(deadline=None)  # The first one loads SciPy.
@given(st.floats(0.003, 0.2), st.floats(1.01, 3.0))
def test_a_larger_spread_needs_a_wider_tolerance(spread, factor):
    narrow, wide = (calibration.smallest(STEP_TIME, sd, alpha=0.0025, max_pairs=20) for sd in (spread, factor * spread))
    assert 0 < narrow < wide


@settings(deadline=None)
@given(st.integers(3, 19))
def test_more_pairs_serve_a_narrower_tolerance(max_pairs):
    fewer, more = (
        calibration.smallest(STEP_TIME, 0.02, alpha=0.0025, max_pairs=count) for count in (max_pairs, max_pairs + 1)
    )
    assert more < fewer


def test_quiet_pairs_give_no_false_alarm():
    seen = [0.01, -0.004, 0.006, -0.01, 0.002, 0.0, -0.007, 0.009, 0.003, -0.002]
    assert calibration.false_alarms(seen, 0.01, RULE, seed=1) == 0.0


def test_a_spread_that_is_far_too_small_shows_as_false_alarms():
    apart = [0.09, 0.1, 0.11, 0.095, 0.105]
    careless = Rule(tolerance=log(1.05), alpha=0.025, max_pairs=5)
    # Of three exchanged sides a quarter are all alike, and 10 % is twice the tolerance.
    assert calibration.false_alarms(apart, 0.05, careless, seed=1) > 0.05


def test_the_same_seed_exchanges_the_same_sides():
    seen = [0.09, 0.1, 0.11, 0.095, 0.105]
    careless = Rule(tolerance=log(1.05), alpha=0.025, max_pairs=5)
    first, again = (calibration.false_alarms(seen, 0.05, careless, seed=3) for _ in range(2))
    assert first == again
