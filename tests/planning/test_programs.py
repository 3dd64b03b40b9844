"""From what a test says of a program to its case: which function runs, and what its ID is."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Device
from pytest_dlbench.environments.of_programs import HERE
from pytest_dlbench.errors import OptionError
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.programs import program_of, program_spec
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records import Machine

MACHINE = Machine(name="box", cpu_model="", cores=2, memory_gib=4.0, os_family="linux")
SETTINGS = RunSettings(machine=MACHINE, scale="quick", threads=2, seed=1, timeout_seconds=60.0)


def build(run):
    """Stands for a function of a test's module."""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "ours.py").write_text("def build(run): pass\n")
    (tmp_path / "programs" / "loop.py").write_text("from programs.ours import build as other, main\n")
    (tmp_path / "programs" / "empty.py").write_text("x = 1\n")
    return tmp_path


def identity(root, source="programs/ours.py", settings=SETTINGS, **parameters):
    program = program_of(source, parameters, root)
    return program_spec(settings, program, HERE, DEVICES["cpu"], root=root, steps=10).case.id


@pytest.mark.parametrize(
    ("source", "function", "is_loop"),
    [
        ("programs/ours.py", "build", False),
        ("programs/ours.py::main_of_two", "main_of_two", True),
        ("programs/loop.py", "main", True),
        ("programs.loop", "main", True),
        ("installed.elsewhere", "build", False),
        ("programs/empty.py", "", False),
    ],
)
def test_the_function_is_the_one_that_the_file_defines(root, source, function, is_loop):
    program = program_of(source, {}, root)
    assert (program.function, program.is_loop) == (function, is_loop)


@pytest.mark.parametrize("source", ["programs/ours.py", "programs/ours.py::main_of_two"])
def test_a_path_is_the_file_that_it_names(root, source):
    assert program_of(Path(source), {}, root) == program_of(source, {}, root)
    assert program_of(root / source, {}, root) == program_of(source, {}, root)


@pytest.mark.parametrize("given", [None, 5, b"programs/ours.py", ["programs/ours.py"]])
def test_what_is_no_program_is_refused_with_what_may_be_given(root, given):
    with pytest.raises(OptionError, match=r"is no program; give a file, such as .*, or a function"):
        program_of(given, {}, root)


def test_a_function_is_found_by_its_file_and_name(request):
    program = program_of(build, {}, request.config.rootpath)
    assert (program.source, program.function) == ("tests/planning/test_programs.py", "build")


def test_a_lambda_and_a_closure_are_refused_with_what_to_do(root):
    def closure(run):
        return root

    for given, what in ((lambda run: run, "is a lambda"), (closure, "is a function within another one")):
        with pytest.raises(OptionError, match=rf"{what}; .* must be a function at the top of a module"):
            program_of(given, {}, root)


def test_a_function_from_outside_the_repository_is_refused(root):
    with pytest.raises(OptionError, match=r"is not below .*; start pytest in a folder above it"):
        program_of(build, {}, root)


@pytest.mark.parametrize(("source", "said"), [("programs/our.py", "there is no file"), ("a-b", "neither a file")])
def test_a_source_that_is_none_is_refused(root, source, said):
    with pytest.raises(OptionError, match=said):
        program_of(source, {}, root)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), (1, 2), b"text"])
def test_a_parameter_that_json_cannot_hold_is_refused(root, value):
    with pytest.raises(OptionError, match="the parameter x is "):
        program_of("programs/ours.py", {"x": value}, root)


def test_parameters_are_part_of_the_id(root):
    assert identity(root, batch_size=64, name="adam") == "program-current-programs.ours-cpu-batch_size64-name_adam"


def test_values_that_differ_have_ids_that_differ(root):
    values = ["a b", "a/b", "a_b", True, 1, 1.5, None, [1, 2], [2, 1], {"x": 1}, "x" * 99, "x" * 98]
    assert len({identity(root, value=value) for value in values}) == len(values)


def test_ids_are_short_enough_for_names_of_files(root):
    assert len(identity(root, **{f"parameter{number}": "x" * 99 for number in range(9)})) < 200


def test_threads_that_are_not_the_machines_are_part_of_the_id(root):
    assert identity(root, settings=replace(SETTINGS, threads=1)).endswith("-threads1")


def test_settings_of_recipes_are_refused(root):
    settings = replace(SETTINGS, changes=(Change(name="batch_size", value=5),))
    with pytest.raises(OptionError, match="--dlbench-set batch_size: a program has no recipe"):
        identity(root, settings=settings)


def test_a_program_has_no_network_and_no_recipe_in_its_context(root):
    spec = program_spec(SETTINGS, program_of("programs/ours.py", {}, root), HERE, DEVICES["cpu"], root=root, steps=10)
    context = SETTINGS.context(spec)
    assert (context.network_digest, context.dataset_digest, context.batch_size, context.steps) == ("", "", None, 10)


def test_on_a_gpu_a_program_gets_the_framework_s_build_for_it_and_the_gpus_that_were_chosen(root):
    device, pytorch = Device(name="gpu", numbers=(1,)), FRAMEWORKS["pytorch"]
    spec = program_spec(SETTINGS, program_of("programs/ours.py", {}, root), pytorch, device, root=root, steps=10)
    assert spec.framework.environments == pytorch.gpu_environments != pytorch.environments
    assert spec.gpu_numbers == (1,)
