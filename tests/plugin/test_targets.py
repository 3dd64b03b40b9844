"""Accuracy over epochs and the time to a target, from the command line to the record."""

import json

import pytest

MARKED = """
import pytest

@pytest.mark.target_accuracy({})
def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)
"""
SCALE = ("--dlbench-scale=full", "--dlbench-runs=1", "--dlbench-json=session.json")


def measured(suite, *arguments):
    result = suite.run(*SCALE, *arguments)
    (case,) = json.loads((suite.path / "session.json").read_text())["cases"]
    (run,) = case["record"]["runs"]
    return result, case, run


def test_each_epoch_is_evaluated_and_a_reached_target_is_reported(suite):
    suite.write(builder="numpy_softmax")
    result, case, run = measured(suite, "--dlbench-target-accuracy=20%", "--dlbench-set=epochs=3")
    assert [round(point["epoch"]) for point in run["curve"]] == [1, 2, 3]
    assert case["result"]["figures"]["reached_accuracy"] == 1
    assert case["result"]["figures"]["time_to_accuracy"] == run["curve"][0]["seconds"]
    result.stdout.fnmatch_lines(["*to accuracy*"])


def test_with_a_price_a_run_and_reaching_the_target_have_a_cost(suite):
    suite.write(builder="numpy_softmax")
    asked = ("--dlbench-hourly-price=0.45", "--dlbench-target-accuracy=20%", "--dlbench-set=epochs=3")
    result, case, run = measured(suite, *asked, "--dlbench-columns=tartu,cost,cost_to_accuracy")
    figures = case["result"]["figures"]
    assert run["hourly_price"] == 0.45
    assert 0 < figures["cost_to_accuracy"] < figures["cost"] <= 0.45 * run["wall_seconds"] / 3600
    assert figures["cost_to_accuracy"] == pytest.approx(0.45 * figures["time_to_accuracy"] / 3600)
    result.stdout.fnmatch_lines(["*accuracy*CPUs*mean RSS*training time*cost*cost to accuracy*"])


def test_a_run_that_never_reaches_its_target_is_reported(suite):
    suite.write(builder="frozen", test=MARKED.format(0.99))
    result, case, run = measured(suite)
    assert run["target_accuracy"] == 0.99
    assert "time_to_accuracy" not in case["result"]["figures"]
    assert case["result"]["figures"]["reached_accuracy"] == 0
    result.stdout.fnmatch_lines(["*1 of 1 runs did not reach an accuracy of 99 %*"])


def test_the_mark_of_a_test_overrides_the_option(suite):
    suite.write(builder="numpy_softmax", test=MARKED.format(0.3))
    assert measured(suite, "--dlbench-target-accuracy=0.9")[2]["target_accuracy"] == 0.3


def test_the_interval_is_a_setting(suite):
    suite.write(builder="numpy_softmax")
    run = measured(suite, "--dlbench-set=evaluation_interval=none,epochs=3")[2]
    assert [round(point["epoch"]) for point in run["curve"]] == [3]


@pytest.mark.parametrize("wrong", ["0", "1.5", "120%", "high"])
def test_a_target_that_is_not_a_share_is_a_usage_error(suite, wrong):
    result = suite.run(f"--dlbench-target-accuracy={wrong}")
    result.stderr.fnmatch_lines(["*--dlbench-target-accuracy: expected an accuracy above 0 and up to 1*"])


def test_a_mark_that_is_not_a_share_is_an_error_that_names_the_test(suite):
    suite.write(test=MARKED.format('"97%"'))
    suite.run().stdout.fnmatch_lines(["*test_suite.py*target_accuracy('97%'): expected a share of 1*"])
