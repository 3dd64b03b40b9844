"""What observing costs, on trainings whose cost is known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.running.training import train_once
from pytest_dlbench.workflows import observing
from pytest_dlbench.workflows.observing import Observed, observer_cost
from tests.doubles import records
from tests.running.plans import plan

STEP = 0.01
USUAL_SHARE = 0.004


def told(line):
    """Nobody listens."""


def paired_training(seconds, excess, noise=lambda: 0.0):
    """Steps of 10 ms, longer by a share of ``excess`` while somebody looks, and by what ``noise`` makes of a second."""
    steps, now, of_block = [], 0.25, {}
    while now < seconds:
        block = observing.block(now)
        if block not in of_block:
            of_block[block] = (1 + excess * observing.is_sampled(block)) * (1 + noise())
        steps.append(STEP * of_block[block])
        now += steps[-1]
    return replace(records.training(steps), began_seconds=0.25)


class Machine:
    """Trainings here take so much longer with the usual looks; ``cheaper`` is what a look at a higher rate takes."""

    def __init__(self, excess, usual_share=USUAL_SHARE, cheaper=1.0, noise=lambda: 0.0):
        self.excess, self.usual_share, self.cheaper, self.noise = excess, usual_share, cheaper, noise
        self.rates = []

    def __call__(self, asked, *, is_paired):
        self.rates.append(asked.looking_rate)
        looks = asked.looking_rate * (self.cheaper if is_paired else 1.0)
        training = paired_training(asked.steps * STEP, self.excess * looks * is_paired, self.noise)
        return Observed(training=training, core_share=self.usual_share * looks)


class TestObserverCost:
    @settings(max_examples=10, deadline=None)
    @given(st.floats(0, 0.02), st.integers(1, 20))
    def test_is_what_the_usual_looks_cost_at_whatever_rate_it_was_measured(self, tmp_path_factory, excess, rate):
        cost = observer_cost(plan("paced", tmp_path_factory.mktemp("data")), 6, told, rate, Machine(excess))
        assert cost.ratio - 1 == pytest.approx(excess, abs=2e-4)
        assert cost.lower <= 1 + excess + 2e-4
        assert cost.upper >= 1 + excess - 2e-4

    def test_of_nothing_is_an_interval_about_nothing(self, tmp_path):
        rng = np.random.default_rng(1)
        machine = Machine(0.0, noise=lambda: rng.normal(0, 0.03))
        cost = observer_cost(plan("paced", tmp_path), 60, told, None, machine)
        assert cost.lower < 1 < cost.upper

    def test_has_an_interval_as_much_narrower_as_looks_are_more(self, tmp_path):
        def width(rate):
            rng = np.random.default_rng(1)
            machine = Machine(0.0, noise=lambda: rng.normal(0, 0.03))
            cost = observer_cost(plan("paced", tmp_path), 30, told, rate, machine)
            return cost.upper - cost.lower

        assert width(1) / width(10) == pytest.approx(10, rel=0.01)

    def test_of_looks_that_are_cheaper_in_a_row_is_not_told_too_low(self, tmp_path):
        cost = observer_cost(plan("paced", tmp_path), 6, told, 10, Machine(0.004, cheaper=0.5))
        assert cost.dose == pytest.approx(5)
        assert cost.ratio == pytest.approx(1.004, abs=2e-4)

    def test_of_looks_that_are_dearer_in_a_row_is_told_too_high_rather(self, tmp_path):
        cost = observer_cost(plan("paced", tmp_path), 6, told, 10, Machine(0.002, cheaper=2.0))
        assert cost.dose == 10
        assert cost.ratio == pytest.approx(1.004, abs=2e-4)

    def test_has_the_share_of_a_core_that_the_usual_looks_take(self, tmp_path):
        cost = observer_cost(plan("paced", tmp_path), 6, told, 10, Machine(0.0, cheaper=0.5))
        assert cost.core_share == USUAL_SHARE

    @pytest.mark.parametrize(("share", "rate"), [(0.004, 20), (0.02, 10), (0.5, 1)])
    def test_is_measured_with_as_many_looks_as_a_fifth_of_a_core_allows(self, tmp_path, share, rate):
        machine = Machine(0.0, usual_share=share)
        assert observer_cost(plan("paced", tmp_path), 2, told, None, machine).rate == rate
        assert machine.rates == [1, 1, rate]

    def test_is_of_as_many_pairs_as_are_asked_for_or_a_few_more(self, tmp_path):
        for pairs in (2, 7, observing.PAIRS_OF_TRAINING + 5):
            found = observer_cost(plan("paced", tmp_path), pairs, told, 1, Machine(0.01)).pairs
            assert pairs <= found <= pairs + 10

    def test_of_a_training_that_fails_is_its_error(self, tmp_path):
        with pytest.raises(DlbenchError, match="killed by SIGSEGV"):
            observer_cost(plan("crashes", tmp_path), 2, told)

    def test_of_steps_that_are_longer_than_a_second_is_none(self, tmp_path):
        def observe(asked, *, is_paired):
            steps = replace(records.training([1.5] * 20), began_seconds=0.0)
            return Observed(training=steps, core_share=USUAL_SHARE)

        with pytest.raises(DlbenchError, match=r"steps of 1\.50 s .* a smaller network"):
            observer_cost(plan("paced", tmp_path), 2, told, None, observe)

    def test_of_a_real_training_is_told(self, tmp_path, monkeypatch):
        monkeypatch.setattr(observing, "USUAL_SECONDS", 1.0)
        monkeypatch.setattr(observing, "BLOCK_SECONDS", 0.25)
        lines = []
        cost = observer_cost(plan("paced", tmp_path), 2, lines.append, 4)
        assert [line.partition(":")[0] for line in lines[1:]] == [f"{cost.pairs} pairs of seconds of 2"]
        assert cost.lower < cost.ratio < cost.upper
        assert 0 < cost.core_share < 1
        assert 0 < cost.dose <= 4


def test_of_four_seconds_the_first_and_the_last_are_sampled():
    assert [observing.is_sampled(observing.block(second + 0.5)) for second in range(8)] == [1, 0, 0, 1, 1, 0, 0, 1]


@given(st.floats(0, 100))
def test_the_next_second_with_samples_is_the_first_that_is_one(seconds):
    following = observing.block(observing.next_sampled(seconds))
    between = range(observing.block(seconds) + 1, following)
    assert observing.is_sampled(following)
    assert not any(observing.is_sampled(number) for number in between)


def test_in_blocks_without_samples_the_driver_sleeps(tmp_path, monkeypatch):
    monkeypatch.setattr(observing, "BLOCK_SECONDS", 0.25)
    looking = observing.Looking(is_paired=True)
    moments = train_once(plan("paced", tmp_path, steps=750, looking_rate=4, around_look=looking), 0).timeline.seconds
    begun_and_ended = 2 * len(("hello", "build", "train", "evaluate", "close"))
    looked = [moment for moment in moments if not observing.is_sampled(observing.block(moment))]
    assert len(looked) <= begun_and_ended < len(moments)
    awake = [seconds for seconds, _ in looking.moments if not observing.is_sampled(observing.block(seconds))]
    assert len(awake) <= len({observing.block(seconds) for seconds in awake})


class TestCoreShare:
    TRAINING = replace(records.training([0.5] * 8), began_seconds=1.0)

    def test_is_of_the_driver_from_look_to_look_while_steps_are_taken(self):
        # Before the first step and behind the last, other things are done.
        moments = [(0.0, 0.0), (1.0, 5.0), (2.0, 5.1), (4.0, 5.3), (9.0, 50.0)]
        assert observing.core_share(moments, self.TRAINING, is_paired=False) == pytest.approx(0.1)

    def test_leaves_out_the_time_that_the_driver_sleeps(self):
        moments = [(3.0, 5.0), (3.5, 5.1), (4.0, 5.2), (4.5, 5.3), (5.0, 5.4)]
        asleep = [(1.0, 5.0), (2.5, 5.0)]
        assert observing.core_share([*asleep, *moments], self.TRAINING, is_paired=True) == pytest.approx(0.2)

    def test_of_a_driver_that_never_looked_is_nothing(self):
        assert observing.core_share([(0.5, 1.0)], self.TRAINING, is_paired=False) == 0
