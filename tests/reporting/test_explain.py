from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, parse_tolerances, stored_baseline
from pytest_dlbench.records import RunOutcome, VerdictOutcome
from pytest_dlbench.reporting import explain
from tests.doubles import records

AGAIN = "pytest 'bench/test_training.py::test_training[pytorch-mnist-cnn-digits28-cpu]' --dlbench-scale=smoke"
ACCEPT = f"{AGAIN} --dlbench-save --dlbench-reason"
PAIRS = "pytest bench/test_training.py::test_training --dlbench-ab=pytorch==2.12.0,pytorch==2.13.0"
ANCHOR = "dlbench baseline anchor training-pytorch-mnist-cnn-digits28-cpu-quick --last"
COMMANDS = explain.Commands(again=AGAIN, pairs=PAIRS, anchor=ANCHOR)


def judged(new, baseline=None, **changes):
    """What is said of new runs against a baseline."""
    baseline = baseline or records.baseline()
    found = stored_baseline.compare(baseline, new, parse_tolerances([], "--dlbench-tolerance", METRICS), METRICS)
    return explain.compared(baseline, records.record(new, **changes), found, COMMANDS)


def told(*verdicts, **more):
    """What is said of these verdicts."""
    found = stored_baseline.Judged(verdicts=verdicts, **more)
    return explain.compared(records.baseline(), records.record(), found, COMMANDS)


def line_of(metric, text):
    (line,) = [line for line in text.splitlines() if line.strip().startswith(metric)]
    return line


SLOWER = records.runs(steps=(0.015,) * 3)
LESS_ACCURATE = records.runs(accuracies=(0.90,) * 3)


# Compared


def test_a_comparison_says_with_what():
    assert judged(SLOWER).startswith("against the baseline of 2026-11-20T10:00:00+00:00 (first baseline):\n")


def test_a_metric_is_told_with_its_verdict():
    assert line_of("step_time", judged(SLOWER)).split()[1] == "suspect"


def test_a_metric_is_told_with_both_figures():
    assert "10.0 ms → 15.0 ms" in line_of("step_time", judged(SLOWER))


def test_a_metric_is_told_with_the_ratio_and_its_interval():
    assert "ratio 1.500 [1.412, 1.593]" in line_of("step_time", judged(SLOWER))


def test_a_metric_is_told_with_its_tolerance():
    assert line_of("step_time", judged(SLOWER)).endswith("tolerance 5%")


def test_accuracy_is_told_in_points():
    assert "95.00 % → 90.00 %, -5.00 pp [-5.37, -4.63], tolerance 1pp" in line_of("accuracy", judged(LESS_ACCURATE))


def test_every_judged_metric_has_a_line():
    for metric in ("step_time", "accuracy", "peak_rss"):
        assert line_of(metric, judged(records.runs()))


def test_a_version_that_changed_is_told():
    newer = tuple(replace(run, versions={**records.VERSIONS, "torch": "2.13.0"}) for run in SLOWER)
    assert "what changed in between:\n  torch 2.12.0 → 2.13.0" in judged(newer)


def test_a_recipe_setting_that_changed_is_told():
    recipe = {**records.RECIPE, "optimizer": {**records.RECIPE["optimizer"], "momentum": 0.5}}
    assert "\n  optimizer.momentum 0.9 → 0.5" in judged(SLOWER, recipe=recipe)


def test_it_is_told_when_nothing_changed():
    assert "what changed in between:\n  no version, no recipe setting" in judged(SLOWER)


def test_a_regression_is_told_how_to_accept_it():
    assert f"to accept the new figures: {ACCEPT}" in judged(SLOWER)


def test_an_improvement_is_told_how_to_accept_it():
    assert f"to accept the new figures: {ACCEPT}" in judged(records.runs(steps=(0.005,) * 3))


@pytest.mark.parametrize("outcome", [VerdictOutcome.EQUIVALENT, VerdictOutcome.INCONCLUSIVE])
def test_what_is_no_finding_is_told_no_command(outcome):
    text = told(records.verdict(outcome=outcome))
    assert "to accept" not in text
    assert "pairs would tell" not in text


@pytest.fixture
def undecided():
    """What is said where nothing can be concluded."""
    return told(records.verdict(outcome=VerdictOutcome.INCONCLUSIVE, sessions=2))


def test_what_is_inconclusive_is_told_with_what_stood_on_both_sides(undecided):
    assert "\ninconclusive (step_time): 2 sessions then and 3 runs now cannot tell" in undecided


def test_what_is_inconclusive_is_told_what_helps(undecided):
    assert "five or more sessions in the baseline (--dlbench-save) tell what sessions differ by" in undecided
    assert undecided.endswith("--dlbench-tolerance can be wider")


def test_sessions_that_are_known_to_lie_far_apart_are_not_asked_for_more_of_them():
    text = told(records.verdict(outcome=VerdictOutcome.INCONCLUSIVE, sessions=5))
    assert "--dlbench-save" not in text
    assert "--dlbench-ab needs none" in text


# Suspected


def test_a_suspicion_is_told_with_the_sessions_that_it_rests_on():
    assert "\nsuspect (step_time): 1 session cannot tell what two sessions of this machine differ by" in judged(SLOWER)


def test_a_suspicion_is_told_what_would_settle_it():
    assert f"\npairs would tell: {PAIRS}\n" in judged(SLOWER)


def test_the_anchor_is_told_with_its_date_and_how_to_move_it():
    text = told(since_anchor=(records.verdict(outcome=VerdictOutcome.SUSPECT),))
    assert "\nsince the anchor of 2026-11-20T10:00:00+00:00 (first baseline):\n  step_time        suspect" in text
    assert f"\n  to accept what has added up: {ANCHOR}\n" in text


def test_an_anchor_that_shows_nothing_is_not_to_be_moved():
    assert ANCHOR not in told(since_anchor=(records.verdict(outcome=VerdictOutcome.EQUIVALENT),))


def test_a_drift_is_told_with_its_length():
    assert "\nstep_time has crept to the worse for 3 sessions" in told(drifting={"step_time": 3})
    assert "pairs would tell" in told(drifting={"step_time": 3})


def test_too_few_runs_are_told_with_both_numbers_and_the_flag():
    assert explain.too_few(1, 3) == "1 of 3 runs that a comparison needs: --dlbench-runs 3"


# No comparison


def test_no_baseline_is_told_how_to_save_one():
    text = explain.no_baseline("linux-acme", (), AGAIN)
    assert text == f'no baseline\n  to save one: {ACCEPT} "first baseline"'


def test_no_baseline_here_names_the_machines_that_have_one():
    text = explain.no_baseline("linux-acme", ("linux-beta", "linux-zeta"), AGAIN)
    assert text.startswith("no baseline of linux-acme, only of linux-beta, linux-zeta: ")


def test_no_baseline_here_is_told_how_to_save_one():
    assert ACCEPT in explain.no_baseline("linux-acme", ("linux-beta",), AGAIN)


def test_what_cannot_be_compared_tells_every_obstacle():
    text = explain.incomparable(records.baseline(), ["steps 50 → 51", "batch size 64 → 128"], AGAIN)
    assert "\n  steps 50 → 51\n  batch size 64 → 128\n" in text


def test_what_cannot_be_compared_is_told_how_to_replace_it():
    assert f"to replace it: {ACCEPT}" in explain.incomparable(records.baseline(), ["steps 50 → 51"], AGAIN)


# Runs that did not finish


def test_an_unfinished_run_is_told_with_its_number_and_seed():
    run = records.unfinished(RunOutcome.TIMEOUT, "no answer in time", index=1, seed=8)
    assert explain.unfinished(run) == "run 2 (seed 8): no answer in time"


def test_an_unfinished_run_quotes_the_last_words_of_the_worker():
    run = records.unfinished(RunOutcome.CRASHED, log=("loading", "Segmentation fault"))
    assert explain.unfinished(run).endswith("\n  | loading\n  | Segmentation fault")


@pytest.mark.parametrize("outcome", [RunOutcome.MISSING_FRAMEWORK, RunOutcome.MISSING_DATA])
def test_what_is_missing_is_told_in_the_words_that_were_found_for_it(outcome):
    run = records.unfinished(outcome, "not built here\n  to build it: dlbench env build mxnet")
    assert explain.unfinished(run) == run.message
