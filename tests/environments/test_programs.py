"""Programs of the system that frameworks need: looked for before anything is built or run."""

from dataclasses import replace

import pytest

from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import Absent, Lack, Place, Places
from pytest_dlbench.environments.programs import CC, CLANG, CXX, Program, lacking
from pytest_dlbench.errors import EnvironmentMissingError

NEEDED = Program(names=("nobody-has-this", "nor-this"), purpose="compiles", debian="a-package", elsewhere="another")


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    """A PATH without any program."""
    monkeypatch.setenv("PATH", str(tmp_path))


def test_a_missing_program_is_reported_with_the_packages_that_bring_it():
    heading, line = lacking("mine", (NEEDED,)).splitlines()
    assert heading == "mine cannot run on this machine:"
    assert line.startswith("  nobody-has-this or nor-this, which compiles, is not on PATH ")
    assert line.endswith("(Debian and Ubuntu: apt install a-package; elsewhere: another)")


def test_one_of_its_names_is_enough(tmp_path, monkeypatch):
    (tmp_path / "nor-this").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lacking("mine", (NEEDED,)) == ""


def test_an_environment_is_not_built_without_its_programs(store, small, progress):
    with pytest.raises(EnvironmentMissingError, match="nobody-has-this or nor-this, which compiles, is not on PATH"):
        store.build(replace(small, programs=(NEEDED,)), progress)
    assert (progress.lines, store.all()) == ([], {})


def test_a_built_environment_is_no_place_without_its_programs(store, small, progress):
    framework = Framework(name="mine", builder="mine", needs=("nobody-has-this",), environments=(small,))
    store.build(small, progress)
    assert isinstance(Places(store=store).find(framework), Place)
    found = Places(store=store).find(replace(framework, more_programs=(NEEDED,)))
    assert isinstance(found, Absent)
    assert found.lack is Lack.NO_PROGRAM
    assert "apt install a-package" in found.reason


def test_programs_do_not_change_the_environments_folder(small):
    assert replace(small, programs=(NEEDED,)).folder_name == small.folder_name


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("tinygrad", CLANG),
        ("theano", CXX),
        ("lasagne", CXX),
        ("theano-pymc", CXX),
        ("pytorch-compile", CXX),
        ("cntk", CC),
    ],
)
def test_frameworks_that_compile_declare_their_compiler(nothing, name, program):
    assert program in FRAMEWORKS[name].programs
    assert program.debian in lacking(name, FRAMEWORKS[name].programs)


def test_on_a_gpu_tinygrad_needs_no_clang():
    assert CLANG not in FRAMEWORKS["tinygrad"].on("gpu").programs
