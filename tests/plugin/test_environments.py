"""Frameworks in other environments: built, not built, broken, or without a Python."""

import sys

import pytest

from pytest_dlbench.cli.main import main
from tests.environments.conftest import HERE

# One framework that is installed, and others whose environments are not.
CONFTEST = """
from dataclasses import replace
from pathlib import Path
import pytest
from pytest_dlbench.environments import Environment, Framework
from pytest_dlbench.environments.programs import Program

COMPILER = Program(names=("nobody-has-this",), purpose="compiles", debian="a-package", elsewhere="another")

def elsewhere(name, python, *requirements):
    environment = Environment(name=name, python=python, requirements=requirements)
    return Framework(name=name, builder={builder!r}, needs=("nobody-has-this",), folders=(Path({folder!r}),),
                     environments=(environment,), package="nobody-has-this")

def pytest_dlbench_frameworks():
    return [
        elsewhere("broken", {here!r}, "nobody-has-this==1.0"),
        elsewhere("old", "3.99", "nobody-has-this==1.0"),
        replace(elsewhere("compiling", {here!r}, "nobody-has-this==1.0"), more_programs=(COMPILER,)),
    ]
"""


@pytest.fixture
def suite(suite, monkeypatch):
    suite.write(more={"second": "clocked"})
    folder = suite.conftest.split("Path('")[1].split("')")[0]
    package = suite.path / "elsewhere.py"
    package.write_text(CONFTEST.format(folder=folder, builder="clocked", here=HERE))
    names = suite.conftest.replace(
        "params=['numpy', 'second']", "params=['numpy', 'broken', 'old', 'torch7', 'compiling']"
    )
    suite.conftest = f"pytest_plugins = ['elsewhere']\n{names}"
    monkeypatch.setenv("PYTHONPATH", str(suite.path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return suite


def test_frameworks_that_are_not_installed_are_skipped_with_the_command_that_installs_them(suite):
    result = suite.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "skipped: 1 × Torch7 has no package*",
            "skipped: 1 × broken is not installed: dlbench env build broken",
            "skipped: 1 × compiling cannot run on this machine: nobody-has-this, which compiles, is not on PATH *",
            "skipped: 1 × old is not installed: dlbench env build old",
        ]
    )


def test_a_named_framework_that_is_not_built_is_skipped_with_both_ways_to_build_it(suite):
    result = suite.run("--dlbench-frameworks=numpy,broken", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*dlbench env build broken", "*to build environments on demand: --dlbench-build"])


def test_a_gate_fails_on_a_framework_that_is_not_built(suite):
    suite.save("--dlbench-frameworks=numpy")
    result = suite.run("--dlbench-frameworks=numpy,broken", "--dlbench-compare", "--dlbench-tolerance=step_time:90%")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*skipped: training-broken-*"])


def test_a_gate_fails_on_a_guarded_framework_that_is_not_there_any_more(suite):
    suite.save()
    before = suite.baseline()
    case = before.read_text().replace("numpy", "broken")
    path = before.with_name(before.name.replace("numpy", "broken"))
    path.write_text(case)
    assert main(["baseline", "repair", str(path), "--yes"]) == 0
    wide = ("--dlbench-tolerance=step_time:90%", "--dlbench-tolerance=peak_rss:90%")
    result = suite.run("--dlbench-compare", *wide)
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*skipped: training-broken-*", "*dlbench env build broken*"])
    result.stdout.fnmatch_lines(["skipped: * old is not installed*"])
    suite.run("--dlbench-compare", "--dlbench-allow=skipped", *wide).assert_outcomes(passed=1)
    # Of this point there is no baseline.
    other = ("--dlbench-set=batch_size=16", "--dlbench-allow=no_baseline,invalid")
    suite.run("--dlbench-compare", *other, *wide).assert_outcomes(passed=1)


def test_a_missing_python_is_a_skip_that_says_which_and_three_ways_to_get_it(suite):
    result = suite.run("--dlbench-frameworks=numpy,old", "--dlbench-build", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*'old' needs Python 3.99, which is not installed*",
            "*pyenv install 3.99",
            "*uv python install 3.99",
            "*--dlbench-python old=/path/to/python3.99",
        ]
    )


def test_an_environment_that_cannot_be_built_fails_only_its_cases(suite):
    result = suite.run("--dlbench-frameworks=broken,numpy", "--dlbench-build")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "environment broken: building with *",
            "failed: training-broken-*",
            "*environment 'broken' (Python *) could not be built:",
            "*requirements: nobody-has-this==1.0",
            "*| *nobody-has-this*",
        ]
    )


def test_a_framework_without_its_program_is_skipped_and_nothing_is_built(suite):
    result = suite.run("--dlbench-frameworks=compiling,numpy", "--dlbench-build", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["*nobody-has-this, which compiles, is not on PATH (Debian and Ubuntu: apt install a-*"]
    )
    assert "building" not in result.stdout.str()


def test_a_framework_without_packages_is_unsupported_with_the_reason(suite):
    result = suite.run("--dlbench-frameworks=torch7,numpy", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*unsupported: *torch7-softmax*", "*Torch7 has no package in today's registries*"])


def test_a_framework_is_trained_in_the_named_python(suite):
    result = suite.run(f"--dlbench-frameworks=second@{sys.executable}")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["second@*-softmax-digits-cpu *no_baseline"])


def test_a_chosen_python_that_is_not_a_python_is_an_error(suite):
    result = suite.run("--dlbench-frameworks=broken", "--dlbench-build", f"--dlbench-python=broken={__file__}")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*--dlbench-python broken: *test_environments.py' is not a Python that can create*"])


def test_numbers_of_threads_are_an_axis_with_a_table_of_frameworks_side_by_side(suite):
    result = suite.run("--dlbench-frameworks=numpy,second", "--dlbench-threads=1,2", "--dlbench-runs=1")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "machine *, 1 and 2 threads, scale smoke",
            "softmax on digits, cpu, scale smoke",
            "framework  samples/s, 1 thread  samples/s, 2 threads *",
        ]
    )
