"""What does not depend on the machine, compared with a baseline of any machine."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, portable
from pytest_dlbench.judging.stored_baseline import appended
from pytest_dlbench.records import PORTABLE
from tests.doubles import records

SPREAD = (0.90, 0.94, 0.98, 0.86, 0.97)
LOSSES = (2.31, 2.25, 2.28, 2.34, 2.29)
TOLERANCES = {"accuracy": 1.0, "step_time": 0.05}


def runs(accuracies=SPREAD, losses=LOSSES, parameters=None):
    """Runs whose losses are all the same, seed by seed."""
    found = []
    for seed, (accuracy, loss) in enumerate(zip(accuracies, losses, strict=True), start=1):
        usual = records.run(seed, accuracy=accuracy)
        trained = replace(usual.training, losses=(loss,) * records.STEPS)
        found.append(replace(usual, training=trained, parameters=parameters or usual.parameters))
    return tuple(found)


def stored(*sessions):
    """A portable baseline with a session of each of these runs."""
    baseline = None
    for name, of in zip("abc", sessions, strict=False):
        session = replace(portable.kept(records.baseline_session(of), METRICS), id=name)
        baseline = appended(baseline, portable.anywhere(records.record(of)), session)
    return baseline


def outcomes(old, new, tolerances=TOLERANCES):
    return outcomes_against(stored(old), new, tolerances)


def outcomes_against(baseline, new, tolerances=TOLERANCES):
    verdicts = portable.compare(baseline, new, tolerances, METRICS)
    return {verdict.metric: verdict.outcome.value for verdict in verdicts}


def test_a_portable_baseline_has_no_figure_of_a_machine():
    baseline = stored(runs())
    assert baseline.context.machine == PORTABLE
    (session,) = baseline.sessions
    assert {"accuracy", "first_loss", "parameters"} <= session.medians.keys()
    assert not {"step_time", "peak_rss", "throughput", "first_step", "leak", "machine_speed"} & session.medians.keys()


def test_equal_seeds_that_round_differently_are_equivalent_however_much_seeds_differ():
    rounded = runs(losses=[loss * (1 + 1e-5) for loss in LOSSES], accuracies=[one + 0.001 for one in SPREAD])
    found = outcomes(runs(), rounded)
    assert found == {"parameters": "equivalent", "first_loss": "equivalent", "accuracy": "equivalent"}


def test_without_a_common_path_the_spread_of_seeds_decides():
    other = runs(losses=[*LOSSES[1:], LOSSES[0]], accuracies=[*SPREAD[1:], SPREAD[0]])
    assert outcomes(runs(), other) == {
        "parameters": "equivalent",
        "first_loss": "inconclusive",
        "accuracy": "inconclusive",
    }


OTHER_LOSSES, OTHER_SPREAD = (*LOSSES[1:], LOSSES[0]), (*SPREAD[1:], SPREAD[0])


@pytest.mark.parametrize(("accuracies", "losses"), [(SPREAD, LOSSES), (OTHER_SPREAD, OTHER_LOSSES)])
def test_a_session_on_another_path_leaves_the_baseline_of_either_path_as_it_was(accuracies, losses):
    both = stored(runs(), runs(OTHER_SPREAD, OTHER_LOSSES))
    same = {"parameters": "equivalent", "first_loss": "equivalent", "accuracy": "equivalent"}
    assert outcomes_against(both, runs(accuracies, losses)) == same
    worse = runs([one - 0.03 for one in accuracies], losses)
    assert outcomes_against(both, worse) == {**same, "accuracy": "regressed"}


def test_a_run_on_a_third_path_is_compared_with_every_stored_run():
    third = runs([*SPREAD[2:], *SPREAD[:2]], [*LOSSES[2:], *LOSSES[:2]])
    found = outcomes_against(stored(runs(), runs(OTHER_SPREAD, OTHER_LOSSES)), third)
    assert found == {"parameters": "equivalent", "first_loss": "inconclusive", "accuracy": "inconclusive"}


def test_seeds_that_are_near_those_of_different_paths_are_on_neither():
    mixed = runs(losses=[*LOSSES[:2], *OTHER_LOSSES[2:]])
    assert outcomes_against(stored(runs(), runs(OTHER_SPREAD, OTHER_LOSSES)), mixed)["first_loss"] == "inconclusive"


def test_a_newest_session_without_accuracy_is_no_end_of_its_comparison():
    both = stored(runs(), runs())
    newest = both.sessions[-1]
    lacking = replace(newest, medians={"first_loss": 2.3}, values={"first_loss": newest.values["first_loss"]})
    both = replace(both, sessions=(both.sessions[0], lacking))
    assert outcomes_against(both, runs([one - 0.05 for one in SPREAD]))["accuracy"] == "regressed"


def test_lost_accuracy_is_regressed():
    assert outcomes(runs(), runs(accuracies=[one - 0.05 for one in SPREAD]))["accuracy"] == "regressed"


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_first_losses_that_change_in_either_direction_are_regressed(factor):
    assert outcomes(runs(), runs(losses=[loss * factor for loss in LOSSES]))["first_loss"] == "regressed"


def test_one_trained_value_more_is_regressed():
    found = outcomes(runs(), runs(parameters={"fc1.weight": (800, 500), "fc1.bias": (501,)}))
    assert found["parameters"] == "regressed"


def test_two_runs_are_too_few_for_accuracy():
    assert outcomes(runs(), runs()[:2]) == {"parameters": "equivalent", "first_loss": "equivalent"}


def test_what_has_no_tolerance_is_not_judged():
    assert "best_accuracy" not in outcomes(runs(), runs())
    assert outcomes(runs(), runs(), {"best_accuracy": 1.0})["best_accuracy"] == "equivalent"
