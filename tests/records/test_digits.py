"""The digits of single steps in a record."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.records import Alternation, Timeline, Training, digits
from tests.doubles.records import run

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


def test_a_run_of_an_earlier_version_gets_the_digits_of_this_one():
    training = Training(
        step_seconds=(0.10873421900032554,),
        losses=(float(np.float32(2.3025851)),),
        examples=64,
        batch_size=64,
        resumed=((0, 1.25000000049),),
        device_seconds=(0.09999999999999,),
        alternation=Alternation(first=0, cpu_seconds=(0.02030277599999997,), idle_cpus=0.1234567891234),
    )
    timeline = Timeline(seconds=(0.5,), rss_bytes=(1,), cpu_seconds=(0.25,), machine_seconds=(0.1612868474611357,))
    old = run(training=training, timeline=timeline)
    found = digits.of_run(old)
    assert found.training == replace(
        training,
        step_seconds=(0.108734219,),
        losses=(2.3025851,),
        resumed=((0, 1.25),),
        device_seconds=(0.1,),
        alternation=replace(training.alternation, cpu_seconds=(0.020302776,)),
    )
    assert found.timeline == replace(timeline, machine_seconds=(0.161286847,))
    assert replace(found, training=training, timeline=timeline) == old


def test_a_run_without_steps_stays_as_it_is():
    ended_early = run(training=None)
    assert digits.of_run(ended_early) == ended_early
