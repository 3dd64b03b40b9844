"""dlbench.search in a session: real small searches with a NumPy double."""

import json

import pytest

from pytest_dlbench.storing import recorded
from pytest_dlbench.storing.journal import Entry, read_journal

# The double has dense layers and plain SGD, but no activations: it trains networks without hidden layers only.
TEST = """
import pytest_dlbench as dlb

SPACE = dlb.SearchSpace(name="planted", kinds=("dense",), layers={layers}, learning_rate={rates}, momenta=(0.5,))

def test_search(dlbench, framework):
    result = dlbench.search(framework, {engine!r}, "digits", budget_seconds={budget}, space={space}, epochs=3)
    result.require(winner_accuracy={least})
"""
CASE = "search-{}-{}s-numpy-planted-digits-cpu-smoke"


@pytest.fixture
def search(suite):
    def write(*options, engine="random", budget=4, layers=(0,), rates=(1e-4, 0.3), least=0.8, **more):
        space = more.pop("space", "SPACE")
        test = TEST.format(engine=engine, budget=budget, layers=layers, rates=rates, least=least, space=space)
        suite.write(builder=more.pop("builder", "numpy_softmax"), test=test, **more)
        return suite.run("--dlbench-runs=2", *options)

    return write


def case_of(suite):
    (found,) = recorded.read([max(suite.path.glob(".dlbench/*.jsonl"))]).cases
    return found


def searches_of(suite):
    return [run.search for run in case_of(suite).record.runs]


def entries_of(suite):
    return [one for one in read_journal(max(suite.path.glob(".dlbench/*.jsonl"))) if isinstance(one, Entry)]


def test_the_winner_of_a_planted_space_is_found_and_reported(search, suite):
    result = search("--dlbench-json=all.json", "--dlbench-html=all.html")
    assert result.ret == 0, result.stdout.str()
    name = CASE.format("random", 4).removesuffix("-smoke")
    result.stdout.fnmatch_lines(
        [
            "case *test accuracy*best validation*trials*failed trials*search CPU*",
            f"{name} *passed",
            f"{name}: test accuracy of the winner *% (95 % interval * over 2 seeds)",
            "tartu: Auto-Keras on CIFAR-100*accuracy 48 %*30 min budget*",
        ]
    )
    # Rates below this learn nothing within three epochs.
    assert all(one.trials[one.winner].settings["learning_rate"] > 1e-3 for one in searches_of(suite))
    assert all(one.trials[one.winner].accuracy == one.curve[-1].accuracy for one in searches_of(suite))
    assert "Best validation accuracy of searches" in (suite.path / "all.html").read_text()
    document = json.loads((suite.path / "all.json").read_text())
    assert document["cases"][0]["record"]["runs"][1]["search"]["curve"]


def test_every_trial_is_a_run_in_the_journal_within_the_budget_and_none_sees_the_test_part(search, suite):
    search()
    runs = {entry.run.case: entry for entry in entries_of(suite) if entry.run}
    trials = [trial for one in searches_of(suite) for trial in one.trials]
    assert len({trial.case for trial in trials}) == len(trials)
    validated = {runs[trial.case].context.dataset_digest for trial in trials}
    assert {runs[trial.case].run.evaluation.examples for trial in trials if trial.outcome == "finished"} == {287}
    assert case_of(suite).record.context.dataset_digest not in validated
    # The winners are tested on the 360 examples of the test part.
    assert {run.evaluation.examples for run in case_of(suite).record.runs} == {360}
    for one in searches_of(suite):
        assert one.ended == "budget"
        assert all(trial.cpu_total <= 4 for trial in one.trials if trial.outcome == "finished")
        assert all(trial.outcome == "over_budget" for trial in one.trials if trial.cpu_total > 4)
        assert sum(trial.outcome == "over_budget" for trial in one.trials) <= 1
        assert one.trials[-1].cpu_total == pytest.approx(sum(trial.cpu_seconds for trial in one.trials))
        # Not of one that was ended: it may not have begun to compute.
        assert all(trial.cpu_seconds > 0.05 for trial in one.trials if trial.outcome == "finished")


def test_a_configuration_that_fails_does_not_end_the_search(search, suite):
    result = search("--dlbench-runs=1", layers=(0, 1))
    assert result.ret == 0, result.stdout.str()
    failed = [trial for one in searches_of(suite) for trial in one.trials if trial.outcome == "failed"]
    assert failed
    assert {trial.settings["layers"] for trial in failed} == {1}
    assert "has no relu" in failed[0].message or "has no tanh" in failed[0].message
    counted = case_of(suite).result.figures
    assert counted["failed_trials"] == len(failed)


def test_a_search_whose_trials_all_diverge_ends_and_fails(search, suite):
    result = search("--dlbench-runs=1", builder="diverges", budget=600)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*none of 20 trials finished*"])
    assert searches_of(suite)[0].ended == "failures"
    assert {trial.run_outcome for trial in searches_of(suite)[0].trials} == {"diverged"}


def test_a_budget_that_is_too_small_for_any_trial_says_so(search, suite):
    result = search(budget=0.05)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*seed *: none of 1 trials finished within 0.05 s of processor time*"])
    assert [one.trials[0].outcome for one in searches_of(suite)] == ["over_budget"] * 2


def test_optuna_searches_the_same_space(search, suite):
    result = search("--dlbench-runs=1", engine="tpe", budget=6)
    assert result.ret == 0, result.stdout.str()
    assert all(len(one.trials) > 3 for one in searches_of(suite))


def test_without_optuna_it_is_unsupported_and_says_what_to_install(search, monkeypatch):
    monkeypatch.setattr("pytest_dlbench.planning.search.find_spec", {}.get)
    result = search("-rs", engine="tpe")
    result.stdout.fnmatch_lines(['*pip install "pytest-dlbench[[]search[]]"*'])
    result.assert_outcomes(skipped=1)


def test_autokeras_is_for_the_framework_that_it_trains_in(search):
    result = search("-rs", engine="autokeras", space="None")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*AutoKeras trains in Keras on TensorFlow: use it with keras-tensorflow*"])


def test_autokeras_has_a_space_of_its_own(search):
    result = search(engine="autokeras")
    result.stdout.fnmatch_lines(["*space=planted: AutoKeras searches among its own networks; omit it*"])


def test_an_unknown_engine_is_refused_with_the_known_ones(search):
    search(engine="tpes").stdout.fnmatch_lines(["*tpe*"])


def test_a_recipe_cannot_be_set(search):
    result = search("--dlbench-set=batch_size=8")
    result.stdout.fnmatch_lines(["*--dlbench-set batch_size: a search chooses its recipes itself*"])
