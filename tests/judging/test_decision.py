"""From an interval and a tolerance to a verdict."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.judging.verdicts import decide
from pytest_dlbench.records import VerdictOutcome

REGRESSED, IMPROVED, EQUIVALENT, INCONCLUSIVE = (
    VerdictOutcome.REGRESSED,
    VerdictOutcome.IMPROVED,
    VerdictOutcome.EQUIVALENT,
    VerdictOutcome.INCONCLUSIVE,
)

ends = st.floats(min_value=-1, max_value=1)


def interval(lower, upper):
    return Interval(estimate=(lower + upper) / 2, lower=lower, upper=upper)


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (0.06, 0.10, REGRESSED),
        (-0.10, -0.06, IMPROVED),
        (-0.04, 0.04, EQUIVALENT),
        (0.01, 0.04, EQUIVALENT),
        (0.04, 0.06, INCONCLUSIVE),
        (-0.06, -0.04, INCONCLUSIVE),
        (-0.06, 0.06, INCONCLUSIVE),
        (0.05, 0.06, INCONCLUSIVE),
    ],
)
def test_the_whole_interval_decides(lower, upper, expected):
    assert decide(interval(lower, upper), 0.05, is_lower_better=True) is expected


@given(ends, ends, st.floats(min_value=0.001, max_value=1))
def test_what_is_worse_for_one_direction_is_better_for_the_other(one, other, limit):
    change = interval(min(one, other), max(one, other))
    mirrored = {REGRESSED: IMPROVED, IMPROVED: REGRESSED}
    found = decide(change, limit, is_lower_better=True)
    assert decide(change, limit, is_lower_better=False) is mirrored.get(found, found)


@given(ends, ends, st.floats(min_value=0.001, max_value=1), st.floats(min_value=1, max_value=10))
def test_a_wider_interval_never_turns_one_finding_into_another(one, other, limit, factor):
    narrow = interval(min(one, other), max(one, other))
    half = factor * (narrow.upper - narrow.lower) / 2
    wide = interval(narrow.estimate - half, narrow.estimate + half)
    assume(wide.lower <= narrow.lower and wide.upper >= narrow.upper)
    before, after = (decide(change, limit, is_lower_better=True) for change in (narrow, wide))
    assert after in (before, INCONCLUSIVE)


@pytest.mark.parametrize("is_lower_better", [True, False])
def test_an_interval_of_nothing_is_inconclusive(is_lower_better):
    assert decide(interval(math.nan, math.nan), 0.05, is_lower_better=is_lower_better) is INCONCLUSIVE
