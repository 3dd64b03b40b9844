"""Operators of two profiles."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.operators import SHOWN, operator_changes
from pytest_dlbench.records import OperatorTime

profiles = st.dictionaries(st.sampled_from([f"op{number}" for number in range(20)]), st.floats(0.001, 1))


def test_the_largest_change_comes_first_whether_longer_or_shorter():
    found = operator_changes({"conv": 1.0, "copy": 0.5, "same": 2.0}, {"conv": 1.1, "same": 2.0})
    assert found == (OperatorTime(name="copy", old=0.5, new=0.0), OperatorTime(name="conv", old=1.0, new=1.1))


@given(profiles, profiles)
def test_old_and_new_are_symmetric(old, new):
    forth, back = operator_changes(old, new), operator_changes(new, old)
    assert forth == tuple(OperatorTime(name=one.name, old=one.new, new=one.old) for one in back)


@given(profiles, profiles)
def test_few_are_shown_and_none_that_did_not_change(old, new):
    found = operator_changes(old, new)
    assert len(found) <= SHOWN
    assert all(change.old != change.new for change in found)
