"""Where a framework runs: the first of the places that there are, and what is told where there is none."""

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


def test_a_framework_that_this_python_has_runs_in_it(places, framework):
    here = replace(framework, needs=("numpy>=1.0", "pytest"))
    found = places.find(here)
    assert isinstance(found, Place)
    assert (found.python, found.environment) == (Path(sys.executable), CURRENT)


@pytest.mark.parametrize(
    ("needs", "is_here"),
    [
        ((), True),
        (("numpy",), True),
        (("numpy>=999",), False),
        (("nobody-has-this | numpy>=1",), True),
        (("nobody-has-this | numpy>=999",), False),
        (("numpy", "nobody-has-this"), False),
    ],
)
def test_all_needs_must_be_met_and_of_alternatives_one(places, needs, is_here):
    found = places.find(Framework(name="mine", builder="mine", needs=needs))
    assert isinstance(found, Place) == is_here


def test_a_version_that_was_asked_for_does_not_run_in_this_python(places, framework):
    named = replace(framework, needs=("numpy",), is_explicit=True)
    assert isinstance(places.find(named), Absent)


def test_a_built_environment_is_the_place_of_what_this_python_lacks(places, framework, store, small, told):
    built = store.build(small, told)
    found = places.find(framework)
    assert isinstance(found, Place)
    assert (found.python, found.environment, found.caches) == (built.python, built.folder.name, built.caches)


def test_an_existing_python_is_the_place_that_was_named(places, framework, tmp_path):
    found = places.find(replace(framework, python=tmp_path / "bin/python", environments=()))
    assert isinstance(found, Place)
    assert found.python == tmp_path / "bin/python"


def test_variables_of_the_environment_and_the_framework_are_set_and_filled(places, framework, store, small, told):
    environment = replace(small, variables=(("FLAGS", "dir={caches}/x"), ("BACKEND", "a")))
    mine = replace(framework, environments=(environment,), variables=(("BACKEND", "b"),))
    built = store.build(environment, told)
    found = places.find(mine)
    assert isinstance(found, Place)
    assert found.variables == {"FLAGS": f"dir={built.caches}/x", "BACKEND": "b"}


def test_what_is_not_built_is_told_with_both_ways_to_build_it(places, framework):
    found = places.find(framework)
    assert isinstance(found, Absent)
    assert found.lack is Lack.NOT_BUILT
    assert "dlbench env build mine" in found.reason
    assert "--dlbench-build" in found.reason


def test_what_has_no_environment_is_told_with_what_installs_it(places):
    found = places.find(Framework(name="mine", builder="mine", needs=("nobody-has-this>=2 | nor-this",)))
    assert isinstance(found, Absent)
    assert "pip install 'nobody-has-this>=2'" in found.reason


def test_a_missing_python_is_told(places, framework, small):
    found = places.find(replace(framework, environments=(replace(small, python="3.99"),)))
    assert isinstance(found, Absent)
    assert found.lack is Lack.NO_PYTHON
    assert "wants Python 3.99" in found.reason


def test_what_is_gone_says_why(places):
    found = places.find(Framework(name="gone", unsupported="nobody has it any more"))
    assert found == Absent(lack=Lack.UNSUPPORTED, reason="nobody has it any more")


def test_where_it_was_asked_for_an_environment_is_built(store, framework, told):
    found = Places(store=store, progress=told).find(framework)
    assert isinstance(found, Place)
    assert told.lines


def test_an_environment_that_cannot_be_built_is_tried_once(store, framework, small, told):
    broken = replace(framework, environments=(replace(small, requirements=("nobody-has-this==1",)),))
    places = Places(store=store, progress=told)
    found = places.find(broken)
    assert isinstance(found, Absent)
    assert found.lack is Lack.BROKEN
    tries = len(told.lines)
    assert places.find(broken) == found
    assert len(told.lines) == tries
