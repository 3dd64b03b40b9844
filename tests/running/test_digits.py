"""The digits of single steps in a record."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.running import digits

singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


def test_seconds_have_nanoseconds():
    assert digits.seconds([0.10873421900032554, 1.0, 2.5e-9]) == (0.108734219, 1.0, 3e-9)


def test_a_loss_of_float32_has_the_shortest_text_that_is_the_same_number():
    assert digits.losses([float(np.float32(2.3025851))]) == (2.3025851,)
    assert digits.losses([2.5, 0.0, 5]) == (2.5, 0.0, 5.0)


def test_a_loss_of_float64_keeps_its_digits():
    assert digits.losses([2.302585092994046, 1e300]) == (2.302585092994046, 1e300)


@given(st.lists(singles, max_size=20))
def test_losses_stay_the_same_numbers_in_float32_and_differ_where_they_did(values):
    found = digits.losses(values)
    assert np.array_equal(np.float32(values), np.float32(found))
    assert [one == other for one in values for other in values] == [one == other for one in found for other in found]
