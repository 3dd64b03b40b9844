"""``dlbench doctor``, as a user calls it, and the cost of observing on trainings whose cost is known."""

import json
from dataclasses import replace
from math import inf

import pytest

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


class TestObserverCost:
    def test_is_the_ratio_that_sampling_makes(self, tmp_path):
        def train(asked, index):
            return records.run(step=0.01 if asked.sample_period_seconds == inf else 0.0102)

        cost = observer_cost(plan("paced", tmp_path), 10, print, train)
        assert cost.ratio == pytest.approx(1.02)
        assert cost.lower < 1.02 < cost.upper

    def test_is_of_pairs_in_alternating_order(self, tmp_path):
        order = []

        def train(asked, index):
            order.append("without" if asked.sample_period_seconds == inf else "with")
            return records.run()

        observer_cost(plan("paced", tmp_path), 2, print, train)
        assert order == ["with", "without", "without", "with"]

    def test_of_a_training_that_fails_is_its_error(self, tmp_path):
        def train(asked, index):
            return records.unfinished(RunOutcome.CRASHED, "it went wrong")

        with pytest.raises(DlbenchError, match="it went wrong"):
            observer_cost(plan("paced", tmp_path), 2, print, train)

    def test_of_real_trainings_is_told_pair_by_pair(self, tmp_path):
        told = []
        cost = observer_cost(plan("paced", tmp_path, steps=200), 2, told.append)
        assert [line[:11] for line in told] == ["pair 1 of 2", "pair 2 of 2"]
        assert cost.lower < cost.ratio < cost.upper
        assert 0 < cost.driver_share < 1

    def test_without_sampling_only_the_ends_of_phases_are_seen(self, tmp_path):
        asked = plan("paced", tmp_path, steps=300)
        assert train_once(replace(asked, sample_period_seconds=inf), 0).usage["train"].samples == 2
        assert train_once(asked, 0).usage["train"].samples > 2
