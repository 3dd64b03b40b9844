"""``dlbench doctor``, as a user calls it, and the cost of observing on trainings whose cost is known."""

import json
from dataclasses import replace

import pytest

from pytest_dlbench import observing
from pytest_dlbench.cli import main
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.observing import observer_cost
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running.training import train_once
from tests.doubles import records
from tests.running.plans import plan


def test_every_condition_is_a_line_with_its_advice_under_it(capsys):
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("load: " in line for line in lines)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        assert line.startswith("! ") == following.startswith("    ")


def test_programs_get_the_same_as_json(capsys):
    assert main(["doctor", "--json"]) == 0
    topics = [finding["topic"] for finding in json.loads(capsys.readouterr().out)]
    assert {"load", "cores", "SMT", "energy counters"} <= set(topics)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--framework", "pytorhc"], "did you mean 'pytorch'?"), (["--pairs", "1"], "2 or more")],
)
def test_a_wrong_call_is_told(capsys, arguments, words):
    assert main(["doctor", "--observer", *arguments]) == 2
    assert words in capsys.readouterr().err


def training(seconds, sampled, other):
    """Steps that take the one time while somebody looks, and the other while nobody does."""
    steps, now = [], 0.25
    while now < seconds:
        steps.append(sampled if observing.is_sampled(observing.block(now)) else other)
        now += steps[-1]
    return replace(records.training(steps), began_seconds=0.25)


class TestObserverCost:
    def test_is_the_ratio_that_sampling_makes(self, tmp_path):
        def train(asked, index):
            return replace(records.run(), training=training(asked.steps * 0.01, 0.0102, 0.01))

        cost = observer_cost(plan("paced", tmp_path), 10, print, train)
        assert cost.ratio == pytest.approx(1.02)
        assert cost.lower < 1.02 < cost.upper

    def test_is_of_as_many_pairs_as_are_asked_for_or_a_few_more(self, tmp_path):
        def train(asked, index):
            return replace(records.run(), training=training(asked.steps * 0.01, 0.0101, 0.01))

        for pairs in (2, 7, observing.PAIRS_OF_TRAINING + 5):
            assert pairs <= observer_cost(plan("paced", tmp_path), pairs, print, train).pairs <= pairs + 10

    def test_of_a_training_that_fails_is_its_error(self, tmp_path):
        def train(asked, index):
            return records.unfinished(RunOutcome.CRASHED, "it went wrong")

        with pytest.raises(DlbenchError, match="it went wrong"):
            observer_cost(plan("paced", tmp_path), 2, print, train)

    def test_of_steps_that_are_longer_than_a_second_is_none(self, tmp_path):
        def train(asked, index):
            return replace(records.run(), training=training(20, 1.5, 1.5))

        with pytest.raises(DlbenchError, match=r"steps of 1\.50 s .* a smaller network"):
            observer_cost(plan("paced", tmp_path), 2, print, train)

    def test_of_a_real_training_is_told(self, tmp_path):
        told = []
        cost = observer_cost(plan("paced", tmp_path), 2, told.append)
        assert [line.partition(":")[0] for line in told] == [f"{cost.pairs} pairs of seconds of 2"]
        assert cost.lower < cost.ratio < cost.upper
        assert 0 < cost.looking_share < 1


def test_of_four_seconds_the_first_and_the_last_are_sampled():
    assert [observing.is_sampled(observing.block(second + 0.5)) for second in range(8)] == [1, 0, 0, 1, 1, 0, 0, 1]


def test_in_seconds_without_samples_nobody_looks(tmp_path):
    asked = plan("paced", tmp_path, steps=2000, around_look=observing.EveryOtherBlock())
    moments = train_once(asked, 0).timeline.seconds
    begun_and_ended = 2 * len(("hello", "build", "train", "evaluate", "close"))
    looked = [moment for moment in moments if not observing.is_sampled(observing.block(moment))]
    assert len(looked) <= begun_and_ended < len(moments)
