"""Workers that do not train as often as they are asked to, or whose losses cannot be: never green, in no mode."""

import json

import pytest

FAULTS = {
    "skips_updates": "*changed no parameter; steps are asked for, and not all of them train*",
    "invents_losses": "*changed no parameter; steps are asked for, and not all of them train*",
    "constant_loss": "*the loss is 0.7 in each of * steps, to the last digit*",
    "repeats_losses": "*steps report the loss of the step before, to the last digit*",
    "loss_below_zero": "*this loss cannot be below 0*",
}


def save_and_replace(suite, fault):
    suite.saved_earlier()
    suite.write(builder=fault)


MODES = {
    "without-a-baseline": (lambda suite, fault: suite.write(builder=fault), ()),
    "with-a-baseline": (save_and_replace, ("--dlbench-tolerance=step_time:400%",)),
    "as-the-candidate": (lambda suite, fault: suite.write(more={"faulty": fault}), ("--dlbench-ab=numpy,faulty",)),
    "as-the-baseline": (lambda suite, fault: suite.write(more={"faulty": fault}), ("--dlbench-ab=faulty,numpy",)),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("mode", MODES)
def test_a_worker_that_does_not_train_fails(suite, mode, fault):
    prepare, options = MODES[mode]
    prepare(suite, fault)
    result = suite.run(*options, "--dlbench-json=found.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["failed: training-*-softmax-digits-cpu-smoke", FAULTS[fault]])
    result.stdout.no_fnmatch_line("*passed*")
    (case,) = json.loads((suite.path / "found.json").read_text())["cases"]
    assert case["result"]["outcome"] == "failed"
