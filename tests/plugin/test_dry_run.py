"""--dlbench-plan: what would run, and nothing runs."""

import time

import pytest

from pytest_dlbench.environments import DEVICES

HEADINGS = "case *parameters *multiply-adds *steps *batch size *runs *expected *state"


def test_the_plan_has_a_row_for_every_case_and_the_sum(suite):
    suite.write(models=("softmax", "two-layers"))
    result = suite.run("--dlbench-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*= dlbench: the plan =*",
            "machine linux-*, scale smoke",
            HEADINGS,
            "numpy-softmax-digits-cpu * 650 * 640 *20 of 88 * 32 * 3 * ~9 s * runs",
            "numpy-two-layers-digits-cpu *1.21 K *1.18 K *20 of 88 *",
            "in all: 2 cases, 6 runs, ~18 s (2 estimated)",
            "*2 tests collected*",
        ]
    )


def test_nothing_is_run_prepared_or_written(suite, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(suite.path / "cache"))
    suite.write(
        test="""
import pytest

@pytest.fixture(autouse=True)
def costly():
    raise AssertionError("no fixture but the recipe is evaluated")

def test_training(dlbench, framework, model, dataset, device):
    raise AssertionError("nothing is run")

def test_other():
    raise AssertionError("nothing is run")
"""
    )
    assert suite.run("--dlbench-plan").ret == 0
    assert not (suite.path / "cache").exists()
    assert not (suite.path / ".dlbench").exists()


def test_no_tree_of_items_is_printed(suite):
    suite.run("--dlbench-plan").stdout.no_fnmatch_line("*<Function*")


def test_the_plan_is_of_what_is_selected(suite):
    suite.write(models=("softmax", "two-layers"), more={"other": "clocked"})
    result = suite.run("--dlbench-plan", "-m", "cnn", "--dlbench-frameworks=numpy")
    result.stdout.fnmatch_lines(["numpy-two-layers-digits-cpu *", "in all: 1 case, *"])
    result.stdout.no_fnmatch_line("*softmax-digits*")


def test_the_recipe_is_that_of_the_suites_fixture_whatever_it_asks_for(suite):
    suite.write(
        models=("softmax", "two-layers"),
        test="""
import pytest
from pytest_dlbench.model import SGD, Recipe

@pytest.fixture(scope="session")
def rate():
    yield 0.3

@pytest.fixture
def recipe(request, model, rate, tmp_path):
    size = {"softmax": 64, "two-layers": 10}[model.name]
    yield Recipe(batch_size=size, epochs=1, optimizer=SGD(rate))

def test_training(dlbench, framework, model, dataset, device):
    pass
""",
    )
    suite.run("--dlbench-plan").stdout.fnmatch_lines(
        ["numpy-softmax-* 10 of 22 * 64 *", "numpy-two-layers-* 64 of 143 * 10 *"]
    )


def test_points_of_a_sweep_are_rows(suite):
    result = suite.run("--dlbench-plan", "--dlbench-set=batch_size=64,5000", "--dlbench-threads=1,2")
    result.stdout.fnmatch_lines(
        [
            "numpy-softmax-digits-cpu-batch_size64* 64 * runs",
            "numpy-softmax-digits-cpu-batch_size64* 64 * runs",
            "*-batch_size5000* unsupported: a batch of 5000 is more than *",
            "in all: 2 cases, 6 runs, *",
        ]
    )


def test_what_is_left_out_is_counted_by_reason_and_listed_when_verbose(suite):
    suite.write(models=("softmax", "gatech-lenet"))
    reason = "gatech-lenet takes 1×28×28, digits has 1×8×8"
    suite.run("--dlbench-plan").stdout.fnmatch_lines([f"left out: 1 × {reason}", "in all: 1 case, *"])
    suite.run("--dlbench-plan", "-v").stdout.fnmatch_lines([f"numpy-gatech-lenet-digits-cpu * left out: {reason}"])


def test_where_nothing_is_left_the_plan_says_so(suite):
    result = suite.run("--dlbench-plan", "--dlbench-models=gatech-lenet")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["left out: 1 × gatech-lenet takes *", "in all: nothing would run"])


def test_what_is_gone_and_what_is_not_built_say_so(suite):
    result = suite.run("--dlbench-plan", "--dlbench-frameworks=torch7,caffe2,numpy")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "torch7-softmax-* unsupported: Torch7 has no package*",
            "numpy-softmax-* runs",
            "in all: 1 case, 3 runs, *",
        ]
    )


def test_what_is_not_here_says_what_brings_it(suite, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(suite.path / "cache"))
    named = ("--dlbench-plan", "--dlbench-frameworks=caffe2")
    suite.run(*named).stdout.fnmatch_lines(["caffe2-* skipped: caffe2 is not here: dlbench env build caffe2"])
    suite.run(*named, "--dlbench-build").stdout.fnmatch_lines(["caffe2-* runs, once its environment is built"])


@pytest.mark.skipif(DEVICES["gpu"].is_available, reason="there is a GPU here")
def test_a_device_that_was_named_and_is_not_here_says_so(suite):
    result = suite.run("--dlbench-plan", "--dlbench-devices=gpu")
    result.stdout.fnmatch_lines(["numpy-softmax-digits-gpu * unsupported: no gpu on this machine"])


def test_what_was_run_before_is_expected_to_take_as_long_again(suite):
    suite.write(models=("softmax", "two-layers"))
    suite.run("--dlbench-runs=1", "-k", "softmax").assert_outcomes(passed=1)
    result = suite.run("--dlbench-plan")
    result.stdout.fnmatch_lines(["in all: 2 cases, 6 runs, ~* s (1 by the journals, 1 estimated)"])
    (line,) = (line for line in result.outlines if line.startswith("numpy-softmax-"))
    assert "~" not in line


def test_what_was_run_with_another_batch_size_tells_nothing(suite):
    suite.run("--dlbench-runs=1").assert_outcomes(passed=1)
    suite.write(
        test="""
import pytest
from pytest_dlbench.model import SGD, Recipe

@pytest.fixture
def recipe():
    return Recipe(batch_size=64, epochs=3, optimizer=SGD(0.3))

def test_training(dlbench, framework, model, dataset, device):
    pass
"""
    )
    suite.run("--dlbench-plan").stdout.fnmatch_lines(["in all: 1 case, 3 runs, ~9 s (1 estimated)"])


AXES = "dlbench, framework, model, dataset"
STATES = {
    f"@pytest.mark.skip(reason='not today')\ndef test_training({AXES}): pass": "left out: not today",
    "def test_training(dlbench): pass": "runs (what it trains is known when it runs)",
    f"@pytest.fixture\ndef recipe(): raise OSError('full')\ndef test_training({AXES}): pass": "fails: OSError: full",
    f"@pytest.fixture\ndef recipe(): pytest.skip('no luck')\ndef test_training({AXES}): pass": "left out: no luck",
    f"@pytest.mark.parametrize('dataset', ['digitz'])\ndef test_training({AXES}): pass": "fails: *dataset 'digitz'",
}


@pytest.mark.parametrize(("test", "state"), STATES.items(), ids=["mark", "no axes", "error", "skip", "unknown name"])
def test_what_is_no_plain_case_has_a_state_that_says_why(suite, test, state):
    suite.write(test=f"import pytest\n{test}\n")
    result = suite.run("--dlbench-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"test_training* {state}"])


def test_an_equivalence_is_one_run_of_steps_that_are_not_known(suite):
    suite.write(
        test="import pytest\n\n@pytest.mark.equivalence\n"
        "def test_equivalence(dlbench, framework, model, dataset): pass\n"
    )
    result = suite.run("--dlbench-plan")
    result.stdout.fnmatch_lines(["equivalence-numpy-softmax-digits-cpu * – * – * 1 * ~3 s  runs"])


def test_a_module_that_cannot_be_collected_is_an_error_and_the_rest_is_planned(suite):
    suite.pytester.makepyfile(test_broken="import nothing_of_this_name")
    result = suite.run("--dlbench-plan")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*nothing_of_this_name*", "in all: 1 case, *"])


def test_with_pytest_xdist_no_worker_is_started(suite):
    result = suite.run("--dlbench-plan", "-n2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *", "in all: 1 case, *"])
    result.stdout.no_fnmatch_line("*workers*")


def test_two_thousand_cases_take_seconds(suite):
    values = ",".join(str(value) for value in range(1, 1001))
    began = time.monotonic()
    result = suite.run("--dlbench-plan", f"--dlbench-set=batch_size={values}", "--dlbench-set=epochs=1,2")
    result.stdout.fnmatch_lines(["in all: 2,000 cases, 6,000 runs, *"])
    assert time.monotonic() - began < 20


def test_a_plan_that_could_not_be_seen_is_refused(suite):
    result = suite.run("-p", "no:terminal", "--dlbench-plan")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --dlbench-plan: a plan is printed, and -p no:terminal prints nothing*"])
