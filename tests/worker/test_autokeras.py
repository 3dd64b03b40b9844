"""Searches by AutoKeras itself, in its own environment: each trial in a process of its own."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.environments import FRAMEWORKS, Device
from pytest_dlbench.planning.autokeras_search import Proposal
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.search import search_plan
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running.training import train_once
from tests.doubles.records import machine
from tests.worker.places import place_of

# The only framework that it trains in; named in the IDs of the tests, as stamps of CI need it.
NAME = "keras-tensorflow"
IN_IT = pytest.mark.parametrize("name", [NAME])
SETTINGS = RunSettings(machine=machine(), scale="smoke", threads=1, seed=1, timeout_seconds=300.0)
# A trial takes twice as much processor time where another process keeps the other half of a core busy.
TEST = """
def test_it(dlbench):
    dlbench.search("keras-tensorflow", "autokeras", "digits", budget_seconds=45, epochs=5, seeds=1)
"""


@pytest.fixture
def vectors(tmp_path, monkeypatch):
    """A data set of vectors, of which the largest number is the class; ``broken`` ones are no numbers."""
    place_of(NAME, "engines", engine="autokeras")
    # Not before: the environment is in the usual one.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(*, broken=False):
        def arrays():
            drawn = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
            labels = drawn.argmax(axis=1).astype(np.int64)
            inputs = np.full_like(drawn, np.nan) if broken else drawn
            return Arrays(
                train_inputs=inputs[:500], train_labels=labels[:500], test_inputs=inputs[500:], test_labels=labels[500:]
            )

        name = "broken-vectors" if broken else "vectors"
        return Dataset(name=name, version=1, shape=(4,), classes=4, train_examples=500, test_examples=100, make=arrays)

    return make


def plan_of(name, data, variables=()):
    framework, device = replace(FRAMEWORKS[name], more_variables=variables), Device(name="cpu")
    return search_plan(
        SETTINGS, framework, data, device, engine="autokeras", space=None, budget_seconds=300.0, epochs=3
    )


def trial_of(plan, folder, number):
    return train_once(plan.trial(Proposal(folder=folder, number=number), 1, number, 300.0), 0)


def learnt(folder):
    """What AutoKeras has stored of its trials, in their order."""
    return [json.loads(file.read_bytes()) for file in sorted(folder.glob("auto_model/trial_*/trial.json"))]


@IN_IT
def test_what_the_process_of_a_trial_learns_is_known_to_the_next_one(name, vectors, tmp_path):
    plan, folder = plan_of(name, vectors()), tmp_path / "search"
    runs = [trial_of(plan, folder, number) for number in range(3)]
    assert [run.outcome for run in runs] == [RunOutcome.FINISHED] * 3, [run.problem for run in runs]
    settings = [Proposal(folder=folder, number=number).settings for number in range(3)]
    assert all("dense_block_1/num_layers" in one for one in settings)
    assert len({json.dumps(one, sort_keys=True) for one in settings}) == 3
    accuracies = [run.reported.values["accuracy"] for run in runs]
    assert [trial["score"] for trial in learnt(folder)] == pytest.approx(accuracies)
    # Another seed, and so other weights and another order.
    winner = train_once(plan.winner(Proposal(folder=folder, number=int(np.argmax(accuracies))), 2), 0)
    assert winner.outcome is RunOutcome.FINISHED, winner.problem
    assert winner.reported.values["accuracy"] > 0.5
    assert winner.training.losses[-1] < winner.training.losses[0]
    assert len(winner.training.losses) == 3 * 16


@IN_IT
def test_a_trial_that_diverges_has_failed_for_autokeras_too(name, vectors, tmp_path):
    # oneDNN's fused ReLU makes NaN 0, so that the loss would stay finite. TensorFlow uses it where a CPU has AVX-512.
    plan = plan_of(name, vectors(broken=True), variables=(("TF_ENABLE_ONEDNN_OPTS", "0"),))
    folder = tmp_path / "search"
    runs = [trial_of(plan, folder, number) for number in range(2)]
    assert [run.outcome for run in runs] == [RunOutcome.DIVERGED] * 2, [run.problem for run in runs]
    assert [(trial["status"], trial["score"]) for trial in learnt(folder)] == [("FAILED", None)] * 2


@IN_IT
def test_a_session_searches_digits_and_tests_the_winner(name, tmp_path):
    place_of(name, "engines", engine="autokeras")
    (tmp_path / "test_it.py").write_text(TEST)
    command = (sys.executable, "-m", "pytest", "--rootdir=.", "--dlbench-scale=smoke", "--dlbench-json=found.json")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (case,) = json.loads((tmp_path / "found.json").read_bytes())["cases"]
    (run,) = case["record"]["runs"]
    trials = run["search"]["trials"]
    assert trials[0]["settings"]["image_block_1/normalize"] in (True, False)
    within = [trial["accuracy"] for trial in trials if trial["outcome"] == "finished"]
    assert trials[run["search"]["winner"]]["accuracy"] == max(within)
    assert "digits-validated" in trials[0]["case"]
    assert run["versions"]["keras"] == "3.12.0"
    assert run["reported"]["values"]["accuracy"] > 0.5
    assert case["result"]["figures"]["winner_accuracy"] == run["reported"]["values"]["accuracy"]
