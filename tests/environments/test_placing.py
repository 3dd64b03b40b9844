"""Where a framework runs: the first available place, and the reason if there is none."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import CURRENT, Absent, Lack, Place, Places


@pytest.fixture
def places(store):
    return Places(store=store)


@pytest.fixture
def framework(small):
    return Framework(name="mine", builder="mine", needs=("nobody-has-this",), environments=(small,))


def test_a_framework_installed_in_this_python_runs_in_it(places, framework):
    here = replace(framework, needs=("numpy>=1.0", "pytest"))
    found = places.find(here)
    assert isinstance(found, Place)
    assert (found.python, found.environment) == (Path(sys.executable), CURRENT)


@pytest.mark.parametrize(
    ("needs", "is_met"),
    [
        ((), True),
        (("numpy",), True),
        (("numpy>=999",), False),
        (("nobody-has-this | numpy>=1",), True),
        (("nobody-has-this | numpy>=999",), False),
        (("numpy", "nobody-has-this"), False),
    ],
)
def test_all_needs_must_be_met_each_by_one_of_its_alternatives(places, needs, is_met):
    found = places.find(Framework(name="mine", builder="mine", needs=needs))
    assert isinstance(found, Place) == is_met


def test_a_requested_version_does_not_run_in_this_python(places, framework):
    named = replace(framework, needs=("numpy",), is_explicit=True)
    assert isinstance(places.find(named), Absent)


def test_a_framework_missing_in_this_python_runs_in_its_built_environment(places, framework, store, small, progress):
    built = store.build(small, progress)
    found = places.find(framework)
    assert isinstance(found, Place)
    assert (found.python, found.environment, found.caches) == (built.python, built.folder.name, built.caches)


def test_a_framework_runs_in_the_python_that_was_named(places, framework, tmp_path):
    found = places.find(replace(framework, python=tmp_path / "bin/python", environments=()))
    assert isinstance(found, Place)
    assert found.python == tmp_path / "bin/python"


def test_variables_of_the_environment_and_the_framework_are_set_and_filled_in(
    places, framework, store, small, progress
):
    environment = replace(small, variables=(("FLAGS", "dir={caches}/x"), ("BACKEND", "a")))
    mine = replace(framework, environments=(environment,), variables=(("BACKEND", "b"),))
    built = store.build(environment, progress)
    found = places.find(mine)
    assert isinstance(found, Place)
    assert found.variables == {"FLAGS": f"dir={built.caches}/x", "BACKEND": "b"}


def test_an_environment_that_is_not_built_is_reported_with_both_ways_to_build_it(places, framework):
    found = places.find(framework)
    assert isinstance(found, Absent)
    assert found.lack is Lack.NOT_BUILT
    assert "dlbench env build mine" in found.reason
    assert "--dlbench-build" in found.reason


def test_a_framework_without_environments_is_reported_with_the_install_command(places):
    found = places.find(Framework(name="mine", builder="mine", needs=("nobody-has-this>=2 | nor-this",)))
    assert isinstance(found, Absent)
    assert "pip install 'nobody-has-this>=2'" in found.reason


def test_a_missing_python_is_reported(places, framework, small):
    found = places.find(replace(framework, environments=(replace(small, python="3.99"),)))
    assert isinstance(found, Absent)
    assert found.lack is Lack.NO_PYTHON
    assert "needs Python 3.99" in found.reason


def test_an_unsupported_framework_is_reported_with_the_reason(places):
    found = places.find(Framework(name="gone", unsupported="nobody has it any more"))
    assert found == Absent(lack=Lack.UNSUPPORTED, reason="nobody has it any more")


def test_an_environment_is_built_on_request(store, framework, progress):
    found = Places(store=store, progress=progress).find(framework)
    assert isinstance(found, Place)
    assert progress.lines


def test_an_environment_that_cannot_be_built_is_tried_once(store, framework, small, progress):
    broken = replace(framework, environments=(replace(small, requirements=("nobody-has-this==1",)),))
    places = Places(store=store, progress=progress)
    found = places.find(broken)
    assert isinstance(found, Absent)
    assert found.lack is Lack.BROKEN
    tries = len(progress.lines)
    assert places.find(broken) == found
    assert len(progress.lines) == tries
