"""--dlbench-set: a recipe changed from the command line, and sweeps over several values."""

import json

import pytest

from tests.plugin.test_gate import accept_command
from tests.plugin.test_selection import collected

SWEEP = ("--dlbench-set=batch_size=16,32", "--dlbench-set=learning_rate=0.1,0.2")


def case_names(result):
    return [line.split()[0] for line in result.outlines if line.startswith("numpy-") and "no_baseline" in line]


def test_settings_with_several_values_are_axes_with_clear_ids(suite):
    assert collected(suite.run("--collect-only", "-q", *SWEEP)) == {
        f"numpy-softmax-digits-cpu-batch_size{size}-learning_rate{rate}" for size in (16, 32) for rate in (0.1, 0.2)
    }


def test_threads_and_settings_are_axes_together(suite):
    result = suite.run("--collect-only", "-q", "--dlbench-set=epochs=1,2", "--dlbench-threads=1,2")
    assert collected(result) == {
        f"numpy-softmax-digits-cpu-epochs{epochs}-threads{threads}" for epochs in (1, 2) for threads in (1, 2)
    }


def test_a_single_value_leaves_the_ids_of_tests_as_they_were(suite):
    result = suite.run("--collect-only", "-q", "--dlbench-set=batch_size=16,32", "--dlbench-set=epochs=1")
    assert collected(result) == {f"numpy-softmax-digits-cpu-batch_size{size}" for size in (16, 32)}


def test_every_point_of_a_sweep_is_trained_by_its_own_recipe(suite):
    hook = """
def pytest_dlbench_case_finished(config, record, result):
    with (config.rootpath / "points.txt").open("a") as file:
        point = (record.recipe["batch_size"], record.recipe["optimizer"]["learning_rate"], record.context.batch_size)
        print(*point, record.runs[0].training.batch_size, file=file)
"""
    suite.conftest += hook
    suite.run("--dlbench-runs=1", *SWEEP).assert_outcomes(passed=4)
    assert (suite.path / "points.txt").read_text().splitlines() == [
        "16 0.1 16 16",
        "16 0.2 16 16",
        "32 0.1 32 32",
        "32 0.2 32 32",
    ]


def test_a_single_value_is_in_the_name_of_the_case_and_its_baseline(suite):
    suite.saved_earlier()
    result = suite.run("--dlbench-set=momentum=0.9")
    assert case_names(result) == ["numpy-softmax-digits-cpu-momentum0.9"]


def test_every_point_of_a_sweep_has_its_own_baseline(suite):
    suite.save("--dlbench-set=batch_size=16,32")
    for size in (16, 32):
        content = json.loads(suite.baseline(f"training-numpy-softmax-digits-cpu-smoke-batch_size{size}").read_text())
        assert (content["recipe"]["batch_size"], content["case"]["settings"]) == (size, {"batch_size": size})


def test_the_command_of_the_message_repeats_the_sweep(suite):
    suite.save("--dlbench-set=batch_size=16,32")
    suite.write(builder="slowed")
    wide = "--dlbench-tolerance=step_time:40%"
    result = suite.run("--dlbench-set=batch_size=16,32", wide, "--dlbench-compare", "-k", "batch_size16")
    arguments = accept_command(result)
    assert "--dlbench-set=batch_size=16,32" in arguments
    suite.run_exactly(*arguments).assert_outcomes(passed=1)


def test_a_setting_changes_the_recipe_fixture_of_a_suite(suite):
    suite.write(
        test="""
import pytest
from pytest_dlbench.model import SGD, Recipe

@pytest.fixture
def recipe():
    return Recipe(batch_size=64, epochs=3, optimizer=SGD(0.3))

def test_training(dlbench, framework, model, dataset, device):
    record = dlbench.train(framework, model, dataset, device).record
    assert (record.recipe["batch_size"], record.recipe["epochs"]) == (64, 1)
"""
    )
    suite.run("--dlbench-set=epochs=1").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rho=0.5", "  run 1 (seed 1): SGD has no rho; its settings: learning_rate, *"),
        ("batch_size=5000", "*: a batch of 5000 is more than the 1437 examples of digits"),
    ],
)
def test_a_point_that_cannot_be_trained_is_unsupported_and_the_others_are_trained(suite, setting, message):
    name, _, value = setting.partition("=")
    suite.write(
        test="""
def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)

def test_plain(dlbench):
    pass
"""
    )
    result = suite.run(f"--dlbench-set={setting}", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines([f"unsupported: numpy-softmax-digits-cpu-{name}{value}", message])


def test_a_gate_fails_on_a_point_that_cannot_be_trained(suite):
    assert suite.run("--dlbench-set=batch_size=5000", "--dlbench-compare").ret == 1


def test_a_sweep_without_a_trainable_point_is_an_error(suite):
    result = suite.run("--dlbench-set=batch_size=5000")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_an_equivalence_test_is_not_swept(suite):
    suite.write(
        test="""
import pytest

@pytest.mark.equivalence
def test_equivalence(dlbench, framework, model, dataset):
    run = dlbench.run(framework, model, dataset)
    assert run.training.batch_size == 32
"""
    )
    suite.run("--dlbench-set=batch_size=8,16").assert_outcomes(passed=1)


def test_a_sweep_has_a_side_by_side_table_for_each_point(suite):
    result = suite.run("--dlbench-set=batch_size=16,32", "--dlbench-threads=1,2", "--dlbench-runs=1")
    result.stdout.fnmatch_lines(
        [
            "softmax on digits, cpu, scale smoke, batch_size 16",
            "framework *1 thread *2 threads*",
            "softmax on digits, cpu, scale smoke, batch_size 32",
        ]
    )


def test_a_scale_that_ends_a_training_early_is_reported(suite):
    result = suite.run("--dlbench-runs=1", "--dlbench-set=epochs=1,10")
    result.stdout.fnmatch_lines(
        ["scale smoke: 20 of the recipe's 44 steps *", "scale smoke: 20 of the recipe's 440 steps *"]
    )


def test_an_unknown_setting_is_a_helpful_usage_error(suite):
    result = suite.run("--dlbench-set=learningrate=0.1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--dlbench-set: unknown setting 'learningrate'", "*did you mean 'learning_rate'?"])
