"""The sampling overhead of tests/perf, on trainings whose overhead is known."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.training import train_once
from tests.doubles import records
from tests.perf import sampling_overhead
from tests.perf.sampling_overhead import Dose, Load, Moment, Observed, block, is_sampled, load, sampling_cost
from tests.running.specs import spec

STEP = 0.01
USUAL_SHARE = 0.004


def quiet(line):
    """Nobody reads the progress."""


def paired_training(seconds, excess, noise=lambda: 0.0):
    """Steps of 10 ms, longer by ``excess`` in seconds with additional samples, and by ``noise`` in each second."""
    steps, now, of_block = [], 0.25, {}
    while now < seconds:
        number = block(now)
        if number not in of_block:
            of_block[number] = (1 + excess * is_sampled(number)) * (1 + noise())
        steps.append(STEP * of_block[number])
        now += steps[-1]
    return replace(records.training(steps), began_seconds=0.25)


class Machine:
    """Trainings here take ``excess`` longer with the usual samples; an additional one takes ``cheaper`` times that."""

    def __init__(self, excess, usual_share=USUAL_SHARE, cheaper=1.0, noise=lambda: 0.0):
        self.excess, self.usual_share, self.cheaper, self.noise = excess, usual_share, cheaper, noise
        self.rates = []

    def __call__(self, asked, rate):
        self.rates.append(rate)
        burden = rate * self.cheaper
        training = paired_training(asked.steps * STEP, self.excess * burden, self.noise)
        found = Load(usual=self.usual_share, added=self.usual_share * burden, samples=float(rate))
        return Observed(training=training, load=found)


class TestSamplingCost:
    @settings(max_examples=10, deadline=None)
    @given(st.floats(0, 0.02), st.integers(1, 20))
    def test_is_that_of_the_usual_samples_at_whatever_rate_it_was_measured(self, tmp_path_factory, excess, rate):
        cost = sampling_cost(spec("paced", tmp_path_factory.mktemp("data")), 6, quiet, rate, Machine(excess))
        assert cost.ratio - 1 == pytest.approx(excess, abs=2e-4)
        assert cost.lower <= 1 + excess + 2e-4
        assert cost.upper >= 1 + excess - 2e-4

    def test_of_nothing_is_an_interval_about_nothing(self, tmp_path):
        rng = np.random.default_rng(1)
        machine = Machine(0.0, noise=lambda: rng.normal(0, 0.03))
        cost = sampling_cost(spec("paced", tmp_path), 60, quiet, None, machine)
        assert cost.lower < 1 < cost.upper

    def test_has_an_interval_as_much_narrower_as_samples_are_more(self, tmp_path):
        def width(rate):
            rng = np.random.default_rng(1)
            machine = Machine(0.0, noise=lambda: rng.normal(0, 0.03))
            cost = sampling_cost(spec("paced", tmp_path), 30, quiet, rate, machine)
            return cost.upper - cost.lower

        assert width(1) / width(10) == pytest.approx(10, rel=0.01)

    def test_is_not_too_low_where_additional_samples_are_cheaper(self, tmp_path):
        cost = sampling_cost(spec("paced", tmp_path), 6, quiet, 10, Machine(0.004, cheaper=0.5))
        assert cost.dose == pytest.approx(5)
        assert cost.ratio == pytest.approx(1.004, abs=2e-4)

    def test_is_rather_too_high_where_they_are_dearer(self, tmp_path):
        cost = sampling_cost(spec("paced", tmp_path), 6, quiet, 10, Machine(0.002, cheaper=2.0))
        assert cost.dose == 10
        assert cost.ratio == pytest.approx(1.004, abs=2e-4)

    def test_has_the_share_of_a_core_that_the_usual_samples_take(self, tmp_path):
        cost = sampling_cost(spec("paced", tmp_path), 6, quiet, 10, Machine(0.0, cheaper=0.5))
        assert cost.core_share == USUAL_SHARE

    @pytest.mark.parametrize(("share", "rate"), [(0.004, 20), (0.02, 10), (0.5, 1)])
    def test_is_measured_with_as_many_samplers_as_20_percent_of_a_core_allows(self, tmp_path, share, rate):
        machine = Machine(0.0, usual_share=share)
        assert sampling_cost(spec("paced", tmp_path), 2, quiet, None, machine).rate == rate
        assert machine.rates == [0, 0, rate]

    def test_has_as_many_pairs_as_are_asked_for_or_a_few_more(self, tmp_path):
        for pairs in (2, 7, sampling_overhead.PAIRS_OF_TRAINING + 5):
            found = sampling_cost(spec("paced", tmp_path), pairs, quiet, 1, Machine(0.01)).blocks
            assert pairs <= len(found) <= pairs + 10

    def test_of_a_training_that_fails_is_its_error(self, tmp_path):
        with pytest.raises(DlbenchError, match="SIGSEGV"):
            sampling_cost(spec("crashes", tmp_path), 2, quiet)

    def test_of_steps_that_are_longer_than_a_second_is_an_error(self, tmp_path):
        def observe(asked, rate):
            steps = replace(records.training([1.5] * 20), began_seconds=0.0)
            return Observed(training=steps, load=Load(usual=USUAL_SHARE, added=0.0, samples=0.0))

        with pytest.raises(DlbenchError, match=r"steps of 1\.50 s .* a smaller network"):
            sampling_cost(spec("paced", tmp_path), 2, quiet, None, observe)

    def test_of_a_real_training(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sampling_overhead, "USUAL_SECONDS", 1.0)
        monkeypatch.setattr(sampling_overhead, "BLOCK_SECONDS", 0.25)
        lines = []
        cost = sampling_cost(spec("paced", tmp_path, sample_period_seconds=0.05), 2, lines.append, 4)
        assert lines[-1].startswith(f"{len(cost.blocks)} pairs of seconds of 2")
        assert cost.lower < cost.ratio < cost.upper
        assert 0 < cost.core_share < 1
        assert 0 < cost.dose <= 4.5


def test_of_four_seconds_the_first_and_the_last_have_additional_samples():
    assert [is_sampled(block(second + 0.5)) for second in range(8)] == [1, 0, 0, 1, 1, 0, 0, 1]


def test_additional_samplers_sample_in_no_other_block(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling_overhead, "BLOCK_SECONDS", 0.25)
    moments = []

    def make(pid):
        return Dose(pid, 4, 0.05, moments)

    asked = spec("paced", tmp_path, steps=750, sample_period_seconds=0.05)
    run = train_once(asked, 0, RunHooks(samplers=(make,)))
    assert "began_monotonic_seconds" in run.usage["train"].readings
    grown = {block(one.seconds) for one, two in pairwise(moments) if two.samples > one.samples}
    assert grown
    assert all(map(is_sampled, grown))


class TestLoad:
    TRAINING = replace(records.training([0.5] * 8), began_seconds=1.0)

    def moments(self, *found):
        return [Moment(seconds=seconds, processor_seconds=share, samples=samples) for seconds, share, samples in found]

    def test_is_of_the_driver_from_sample_to_sample_while_steps_are_taken(self):
        # Before the first step and after the last, other things are done.
        moments = self.moments((0.0, 0.0, 0), (1.0, 5.0, 0), (2.0, 5.1, 0), (4.0, 5.3, 0), (9.0, 50.0, 0))
        assert load(moments, self.TRAINING, 0.2).usual == pytest.approx(0.1)

    def test_distinguishes_additional_from_usual_samples(self):
        # Second 3 has additional samples, seconds 1 and 2 have none.
        moments = self.moments((1.0, 5.0, 0), (2.0, 5.1, 0), (3.0, 5.2, 0), (3.5, 5.4, 10), (4.0, 5.6, 20))
        found = load(moments, self.TRAINING, 0.2)
        assert found.usual == pytest.approx(0.1)
        assert found.added == pytest.approx(0.3)
        assert found.samples == pytest.approx(4)

    def test_of_a_driver_that_took_no_sample_is_nothing(self):
        assert load(self.moments((0.5, 1.0, 0)), self.TRAINING, 0.2) == Load(usual=0.0, added=0.0, samples=0.0)
