"""Selection with -m, -k, -x, --lf, -n and the axes, as pytest users expect it."""

import json

import pytest

from tests.plugin.conftest import run_here

ALL = ("softmax", "two-layers")


def collected(result):
    return {line.partition("[")[2].rstrip("]") for line in result.outlines if "::test_training[" in line}


@pytest.fixture
def matrix(suite):
    suite.write(models=ALL, more={"other": "clocked"})
    return suite


def test_every_fitting_cell_is_one_item(matrix):
    assert collected(matrix.run("--collect-only", "-q")) == {
        "numpy-softmax-digits-cpu",
        "numpy-two-layers-digits-cpu",
        "other-softmax-digits-cpu",
        "other-two-layers-digits-cpu",
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-m", "cpu and cnn"), {"numpy-two-layers-digits-cpu", "other-two-layers-digits-cpu"}),
        (("-m", "numpy and fcn"), {"numpy-softmax-digits-cpu"}),
        (("-m", "tartu and not other"), {"numpy-softmax-digits-cpu"}),
        (("-m", "gpu and cnn"), set()),
        (("-k", "two"), {"numpy-two-layers-digits-cpu", "other-two-layers-digits-cpu"}),
        (("--dlbench-frameworks=other",), {"other-softmax-digits-cpu", "other-two-layers-digits-cpu"}),
        (("--dlbench-models=softmax", "--dlbench-frameworks=numpy"), {"numpy-softmax-digits-cpu"}),
        (("--dlbench-models=soft*", "--dlbench-frameworks=numpy"), {"numpy-softmax-digits-cpu"}),
        # All known models that fit: those of the zoo take other shapes.
        (
            ("--dlbench-models=all", "--dlbench-frameworks=numpy", "--dlbench-datasets=digits"),
            {f"numpy-{name}-digits-cpu" for name in (*ALL, "three-layers", "unknown-to-the-double")},
        ),
        # An axis takes any known value, not only those of the suite's fixture.
        (
            ("--dlbench-datasets=synthetic", "--dlbench-models=gatech-lenet", "--dlbench-frameworks=numpy"),
            {"numpy-gatech-lenet-synthetic-cpu"},
        ),
    ],
)
def test_selection(matrix, arguments, expected):
    assert collected(matrix.run("--collect-only", "-q", *arguments)) == expected


def test_marks_are_registered(matrix):
    assert matrix.run("--collect-only", "--strict-markers", "-m", "legacy or rnn or pytorch or hkbu").ret == 5


def test_cells_that_do_not_fit_are_skipped_and_counted(matrix):
    matrix.write(models=("softmax", "gatech-lenet"))
    result = matrix.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["skipped: 1 × gatech-lenet takes 1×28×28, digits has 1×8×8"])


def test_cells_of_tests_that_are_deselected_are_not_counted(matrix):
    matrix.write(models=("softmax", "gatech-lenet"))
    one = "def test_one(dlbench):\n    dlbench.train('numpy', 'softmax', 'digits')\n"
    (matrix.path / "test_one.py").write_text(one)
    result = matrix.run("-k", "test_one", "--dlbench-json=found.json")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.no_fnmatch_line("skipped: *")
    assert json.loads((matrix.path / "found.json").read_text())["left_out"] == []


def test_cells_are_counted_in_a_folder_with_brackets_in_its_name(matrix):
    matrix.write(models=("softmax", "gatech-lenet"))
    folder = matrix.path / "suite[1]"
    folder.mkdir()
    (matrix.path / "test_suite.py").rename(folder / "test_suite.py")
    matrix.run("--dlbench-runs=1").stdout.fnmatch_lines(["skipped: 1 × gatech-lenet takes 1×28×28, digits has 1×8×8"])


def test_a_matrix_in_which_nothing_fits_is_an_error(matrix):
    result = matrix.run("--dlbench-models=gatech-lenet")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["skipped: 2 × gatech-lenet takes 1×28×28, digits has 1×8×8", "ERROR: nothing *"])


def test_x_stops_at_the_first_failure_and_lf_runs_it_again(suite):
    suite.write(builder="crashes", more={"sound": "clocked"})
    stopped = suite.run("-x")
    stopped.assert_outcomes(failed=1)
    again = suite.run("--lf")
    again.assert_outcomes(failed=1)


def test_a_node_id_finds_its_case_though_the_fixture_lists_another_model(suite):
    one = "test_suite.py::test_training[numpy-two-layers-digits-cpu]"
    assert collected(suite.run("--collect-only", "-q", one)) == {"numpy-two-layers-digits-cpu"}


def test_a_node_id_alongside_a_file_adds_no_model_to_the_file(suite):
    one = "test_suite.py::test_training[numpy-two-layers-digits-cpu]"
    assert collected(suite.run("--collect-only", "-q", "test_suite.py", one)) <= {"numpy-softmax-digits-cpu"}


def test_lf_runs_exactly_what_failed_though_the_fixture_lists_another_model(suite):
    suite.write(more={"broken": "crashes"})
    suite.run("--dlbench-models=softmax,two-layers", "-k", "broken and two")
    assert collected(suite.run("--lf", "--collect-only", "-q")) == {"broken-two-layers-digits-cpu"}


def test_a_pattern_of_models_that_matches_none_is_a_usage_error(suite):
    result = suite.run("--dlbench-models=sofd*")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--dlbench-models: unknown model 'sofd[*]'*"])


def test_a_users_own_parametrize_overrides_the_axis(suite):
    suite.write(
        test="""
import pytest

from tests.plugin.conftest import run_here

@pytest.mark.parametrize("framework", ["numpy"])
@pytest.mark.parametrize("speed", [1, 2])
def test_training(dlbench, framework, model, speed):
    assert framework == "numpy"
    assert model.name == "softmax"
"""
    )
    suite.run().assert_outcomes(passed=2)


def test_an_unknown_name_in_a_fixture_is_an_error_with_the_nearest(suite):
    suite.write(models=("sofmax",))
    result = suite.run()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*fixture 'model'*: unknown model 'sofmax'", "*did you mean 'softmax'?"])


def test_a_name_that_is_given_twice_is_one_cell(matrix):
    result = matrix.run("--collect-only", "-q", "--dlbench-models=softmax,softmax", "--dlbench-frameworks=numpy")
    assert collected(result) == {"numpy-softmax-digits-cpu"}


def test_two_models_with_one_name_are_an_error(suite):
    suite.pytester.makepyfile(
        test_suite="""
import pytest

from tests.plugin.conftest import run_here
from dataclasses import replace
from conftest import FLAT, DEEP

@pytest.fixture(params=[FLAT, replace(DEEP, name="softmax")])
def model(request):
    return request.param

def test_training(dlbench, framework, model, dataset, device):
    pass
"""
    )
    result = suite.run()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*two values of the axis 'model' are named 'softmax'*"])


def test_an_axis_without_the_dlbench_fixture_is_an_error(suite):
    suite.write(test="def test_alone(device): pass\n")
    result = suite.run()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*a test that uses it must also use 'dlbench'*"])


def test_other_tests_of_a_repository_are_left_alone(pytester):
    pytester.makeconftest("import pytest\n@pytest.fixture(params=[1, 2])\ndef model(request): return request.param\n")
    pytester.makepyfile("def test_plain(model): assert model in (1, 2)\n")
    result = run_here(pytester)
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*dlbench ===*")


@pytest.mark.parametrize(
    ("argument", "lines"),
    [
        ("--dlbench-frameworks=nunpy", ["*--dlbench-frameworks: unknown framework 'nunpy'", "*did you mean 'numpy'?"]),
        ("--dlbench-models=tartu-mnist", ["*--dlbench-models: unknown model*", "*did you mean 'tartu-mnist-cnn'?"]),
        ("--dlbench-datasets=digit", ["*--dlbench-datasets: unknown dataset 'digit'", "*did you mean 'digits'?"]),
        ("--dlbench-devices=cpuu", ["*--dlbench-devices: unknown device 'cpuu'", "*known: cpu, gpu"]),
        ("--dlbench-tolerance=step-time:5%", ["*--dlbench-tolerance: unknown metric*", "*did you mean 'step_time'?"]),
        ("--dlbench-tolerance=step_time:5ms", ["*unknown unit 'ms' in 'step_time:5ms'*step_time:5%"]),
        ("--dlbench-scale=smok", ["*--dlbench-scale: unknown scale 'smok'", "*did you mean 'smoke'?"]),
        ("--dlbench-save", ["*--dlbench-save: needs a reason*--dlbench-reason*"]),
    ],
)
def test_bad_input_is_a_helpful_usage_error(suite, argument, lines):
    result = suite.run_exactly(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\ndlbench_max-runs = 5\n"),
        ("tox.ini", "[pytest]\ndlbench-max-runs: 5\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\n"dlbench_max-runs" = "5"\n'),
    ],
)
def test_an_ini_key_with_hyphens_is_a_usage_error_with_the_right_key(suite, name, text):
    (suite.path / name).write_text(text)
    result = suite.run("--collect-only")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini key dlbench*max-runs: ini keys are written with underscores: dlbench_max_runs"])


@pytest.mark.parametrize(
    "text",
    [
        '[tool.pytest.ini_options]\ndlbench_frameworks = ["numpy"]\ndlbench_runs = 2\n',
        pytest.param(
            '[tool.pytest]\ndlbench_frameworks = ["numpy"]\ndlbench_runs = 2\n',
            marks=pytest.mark.skipif(pytest.version_tuple < (9,), reason="older versions do not read [tool.pytest]"),
        ),
    ],
    ids=["ini_options", "native"],
)
def test_lists_and_numbers_of_toml_set_options(matrix, text):
    (matrix.path / "pyproject.toml").write_text(text)
    result = matrix.run("-W", "error")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["case 2 of 2, run 2 of 2: training-numpy-two-layers-*"])
    result.stdout.no_fnmatch_line("*training-other-*")


@pytest.mark.parametrize(
    "text",
    [
        '[tool.pytest.ini_options]\ndlbench_frameworks = [["a"], {b = 1}]\n',
        "[tool.pytest.ini_options]\ndlbench_runs = []\n",
    ],
)
def test_a_value_of_toml_that_does_not_fit_is_a_usage_error(suite, text):
    (suite.path / "pyproject.toml").write_text(text)
    result = suite.run("--collect-only")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini key dlbench_*: expected *"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


@pytest.mark.parametrize("arguments", [(), ("-o", "dlbench_runz=2")])
def test_an_unknown_ini_key_is_a_usage_error_with_the_nearest(suite, arguments):
    if not arguments:
        (suite.path / "pytest.ini").write_text("[pytest]\ndlbench_runz = 2\n")
    result = suite.run("--collect-only", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini file: unknown key 'dlbench_runz'*", "*did you mean 'dlbench_runs'?*"])


def test_a_key_of_another_plugin_may_begin_like_ours(suite):
    text = "def pytest_addoption(parser):\n    parser.addini('dlbench_theirs', 'another plugin')\n"
    (suite.path / "theirs.py").write_text(text)
    (suite.path / "pytest.ini").write_text("[pytest]\ndlbench_theirs = 2\npythonpath = .\n")
    assert suite.run("--collect-only", "-p", "theirs").ret == 0


def test_an_unknown_option_is_a_usage_error_with_the_nearest(suite):
    result = suite.run("--dlbench-framework=numpy")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unknown option --dlbench-framework; did you mean --dlbench-frameworks?"])


def test_an_option_that_a_conftest_adds_may_begin_like_ours(suite):
    suite.conftest += "\n\ndef pytest_addoption(parser):\n    parser.addoption('--dlbench-theirs')\n"
    assert suite.run("--collect-only", "--dlbench-theirs=2").ret == 0


def test_an_overriding_ini_key_with_hyphens_is_a_usage_error(suite):
    result = suite.run("--collect-only", "-o", "dlbench_max-runs=5")
    result.stderr.fnmatch_lines(["*ini keys are written with underscores: dlbench_max_runs"])


def test_ini_keys_have_underscores_and_options_in_addopts_keep_their_hyphens(suite):
    (suite.path / "pytest.ini").write_text(
        "[pytest]\ndlbench_max_runs = rubbish\naddopts =\n    --dlbench-false-alarms=1%\n"
    )
    result = suite.run("--collect-only")
    result.stderr.fnmatch_lines(["*ini key dlbench_max_runs: *'rubbish'*"])
