"""--dlbench-plan: what would run, and nothing runs."""

import time

import pytest

HEADINGS = "case *parameters *multiply-adds *steps *batch size *runs *expected *state"


def test_the_plan_has_a_row_for_every_case_and_the_total(suite):
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
            "total: 2 cases, 6 runs, ~18 s (2 estimated)",
            "*2 tests collected*",
        ]
    )


def test_a_plan_runs_prepares_and_writes_nothing(suite, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(suite.path / "cache"))
    suite.write(
        test="""
import pytest

@pytest.fixture(autouse=True)
def costly():
    raise AssertionError("only the recipe fixture is evaluated")

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


def test_the_plan_respects_the_selection(suite):
    suite.write(models=("softmax", "two-layers"), more={"other": "clocked"})
    result = suite.run("--dlbench-plan", "-m", "cnn", "--dlbench-frameworks=numpy")
    result.stdout.fnmatch_lines(["numpy-two-layers-digits-cpu *", "total: 1 case, *"])
    result.stdout.no_fnmatch_line("*softmax-digits*")


def test_the_recipe_is_that_of_the_suites_fixture_with_the_fixtures_it_requests(suite):
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
            "total: 2 cases, 6 runs, *",
        ]
    )


def test_the_plan_counts_skipped_cells_by_reason_and_lists_them_when_verbose(suite):
    suite.write(models=("softmax", "gatech-lenet"))
    reason = "gatech-lenet takes 1×28×28, digits has 1×8×8"
    suite.run("--dlbench-plan").stdout.fnmatch_lines([f"skipped: 1 × {reason}", "total: 1 case, *"])
    suite.run("--dlbench-plan", "-v").stdout.fnmatch_lines([f"numpy-gatech-lenet-digits-cpu * skipped: {reason}"])


def test_a_plan_with_nothing_to_run_says_so(suite):
    result = suite.run("--dlbench-plan", "--dlbench-models=gatech-lenet")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["skipped: 1 × gatech-lenet takes *", "total: nothing to run"])


def test_unsupported_frameworks_and_environments_that_are_not_built_say_so(suite):
    result = suite.run("--dlbench-plan", "--dlbench-frameworks=torch7,caffe2,numpy")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "torch7-softmax-* unsupported: Torch7 has no package*",
            "numpy-softmax-* runs",
            "total: 1 case, 3 runs, *",
        ]
    )


def test_a_framework_that_is_not_installed_says_how_to_install_it(suite, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(suite.path / "cache"))
    named = ("--dlbench-plan", "--dlbench-frameworks=caffe2")
    suite.run(*named).stdout.fnmatch_lines(["caffe2-* skipped: caffe2 is not installed: dlbench env build caffe2"])
    suite.run(*named, "--dlbench-build").stdout.fnmatch_lines(["caffe2-* runs, once its environment is built"])


def test_a_named_device_that_is_not_available_says_so(suite, monkeypatch):
    # Whatever this machine has.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    result = suite.run("--dlbench-plan", "--dlbench-devices=gpu")
    result.stdout.fnmatch_lines(["numpy-softmax-digits-gpu * unsupported: no gpu on this machine"])


def test_a_case_that_ran_before_is_expected_to_take_as_long_again(suite):
    suite.write(models=("softmax", "two-layers"))
    suite.run("--dlbench-runs=1", "-k", "softmax").assert_outcomes(passed=1)
    result = suite.run("--dlbench-plan")
    result.stdout.fnmatch_lines(["total: 2 cases, 6 runs, ~* s (1 from the journals, 1 estimated)"])
    (line,) = (line for line in result.outlines if line.startswith("numpy-softmax-"))
    assert "~" not in line


def test_runs_with_another_batch_size_are_no_more_than_an_estimate(suite):
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
    plan = suite.run("--dlbench-plan").stdout
    plan.fnmatch_lines(
        ["numpy-softmax-digits-cpu * 10 of 66 * 64 * 3 *~* s  runs", "total: 1 case, 3 runs, ~* s (1 estimated)"]
    )
    # Without any runs they would be 9 s: three of a start of 3 s.
    plan.no_fnmatch_line("total: 1 case, 3 runs, ~9 s (1 estimated)")


AXES = "dlbench, framework, model, dataset"
STATES = {
    f"@pytest.mark.skip(reason='not today')\ndef test_training({AXES}): pass": "skipped: not today",
    "def test_training(dlbench): pass": "runs (its body decides what it trains)",
    f"@pytest.fixture\ndef recipe(): raise OSError('full')\ndef test_training({AXES}): pass": "fails: OSError: full",
    f"@pytest.fixture\ndef recipe(): pytest.skip('no luck')\ndef test_training({AXES}): pass": "skipped: no luck",
    f"@pytest.mark.parametrize('dataset', ['digitz'])\ndef test_training({AXES}): pass": "fails: *dataset 'digitz'",
}


@pytest.mark.parametrize(("test", "state"), STATES.items(), ids=["mark", "no axes", "error", "skip", "unknown name"])
def test_an_item_that_is_not_a_plain_case_has_a_state_with_the_reason(suite, test, state):
    suite.write(test=f"import pytest\n{test}\n")
    result = suite.run("--dlbench-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"test_training* {state}"])


def test_an_equivalence_is_one_run_with_an_unknown_number_of_steps(suite):
    suite.write(
        test="import pytest\n\n@pytest.mark.equivalence\n"
        "def test_equivalence(dlbench, framework, model, dataset): pass\n"
    )
    result = suite.run("--dlbench-plan")
    result.stdout.fnmatch_lines(["equivalence-numpy-softmax-digits-cpu * – * – * 1 * ~3 s  runs"])


def test_a_module_that_cannot_be_collected_is_an_error_and_the_others_are_planned(suite):
    suite.pytester.makepyfile(test_broken="import nothing_of_this_name")
    result = suite.run("--dlbench-plan")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*nothing_of_this_name*", "total: 1 case, *"])


def test_with_pytest_xdist_no_worker_is_started(suite):
    result = suite.run("--dlbench-plan", "-n2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *", "total: 1 case, *"])
    result.stdout.no_fnmatch_line("*workers*")


def test_two_thousand_cases_take_seconds(suite):
    values = ",".join(str(value) for value in range(1, 1001))
    began = time.monotonic()
    result = suite.run("--dlbench-plan", f"--dlbench-set=batch_size={values}", "--dlbench-set=epochs=1,2")
    result.stdout.fnmatch_lines(["total: 2,000 cases, 6,000 runs, *"])
    assert time.monotonic() - began < 20


def test_a_plan_without_a_terminal_is_a_usage_error(suite):
    result = suite.run("-p", "no:terminal", "--dlbench-plan")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --dlbench-plan: a plan is printed, and -p no:terminal prints nothing*"])
