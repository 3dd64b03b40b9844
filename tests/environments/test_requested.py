"""Requested versions against installed ones: local suffixes, ranges, partial pins, addresses, repackaged releases."""

import pytest

from pytest_dlbench.environments.requested import (
    Packages,
    are_alike,
    contradicted,
    is_same_release,
    same_despite_request,
    wrong,
)
from pytest_dlbench.records.problems import SameVersion, SameVersions, WrongVersion


def packages(*requested, name="pytorch", python="3.11.7", **installed):
    return Packages(name=name, requested=requested, python=python, installed=installed)


@pytest.mark.parametrize(
    ("requested", "installed"),
    [
        ("torch==2.13.0", "2.13.0+cpu"),
        ("torch==2.13", "2.13.0"),
        ("Torch == 2.13.0", "2.13.0"),
        ("torch==2.13.0+cpu", "2.13.0+cpu"),
        ("torch==2.*", "2.13.0"),
        ("torch>=2.12,<3", "2.13.0"),
        ("torch~=2.12", "2.13.0"),
        ("torch>=2.14.0.dev1", "2.14.0.dev20261101"),
        ("torch[opt]==2.13.0", "2.13.0"),
        ("torch", "2.13.0"),
        ("torch==2.12.0 ; python_version < '3.8'", "2.13.0"),
        ("torch @ https://wheels.example/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl", "2.13.0+cpu"),
        ("torch @ https://wheels.example/torch-2.13.0.tar.gz", "2.13.0+cpu"),
        ("torch @ git+https://example.org/torch@main", "2.14.0a0+git1"),
        ("torch==2.7.post2", "2.7"),
        ("tensorflow>=2.7 | torch>=2", "2.13.0"),
        ("--find-links", "2.13.0"),
        ("/wheels", "2.13.0"),
    ],
)
def test_what_was_requested_is_accepted(requested, installed):
    assert [*wrong(packages(requested, torch=installed))] == []


@pytest.mark.parametrize(
    ("requested", "installed"),
    [
        ("torch==2.12.0", "2.13.0"),
        ("torch==2.13.0+cpu", "2.13.0+cu128"),
        ("torch==2.12.*", "2.13.0"),
        ("torch>=2.14", "2.13.0"),
        ("torch!=2.13.0", "2.13.0"),
        ("torch==2.7", "2.7.post2"),
        ("torch @ https://wheels.example/torch-2.12.0-cp311-cp311-linux_x86_64.whl", "2.13.0"),
        ("torch @ https://wheels.example/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl", "2.13.0+cu128"),
        ("torch==2.13.0", "not a version"),
    ],
)
def test_another_version_is_named_with_the_requested_one(requested, installed):
    (found,) = wrong(packages(requested, torch=installed))
    assert found.installed == (installed,)
    assert found.requested[0].startswith("torch")


def test_a_package_that_is_not_installed_is_named():
    assert [*wrong(packages("torch==2.13.0"))] == [WrongVersion(requested=("torch==2.13.0",))]


def test_each_side_of_the_python_decides_which_markers_apply():
    text = "torch==2.12.0 ; python_version < '3.8'"
    assert [*wrong(packages(text, python="3.7.1", torch="2.13.0"))]


@pytest.mark.parametrize(
    ("reported", "distribution", "is_same"),
    [
        ("2.13.0", "2.13.0+cpu", True),
        ("2.13.0+cpu", "2.13.0", True),
        ("2.7", "2.7.post2", True),
        ("2.13", "2.13.0", True),
        ("2.22.0-dev20261101", "2.22.0.dev20261101", True),
        ("an own name", "2.13.0", True),
        ("2.12.0", "2.13.0", False),
        ("2.13.0rc1", "2.13.0", False),
        ("1!2.13.0", "2.13.0", False),
    ],
)
def test_repackaging_does_not_make_another_release(reported, distribution, is_same):
    assert is_same_release(reported, distribution) is is_same


def test_a_builder_that_reports_another_version_than_the_distribution_is_contradicted_with_both():
    found = contradicted({"torch": "2.12.0", "cuda": "12.8"}, {"torch": {"torch": "2.13.0"}})
    assert [*found] == [WrongVersion(reported="torch 2.12.0", installed=("torch 2.13.0",))]


def test_a_module_may_come_from_one_of_several_distributions():
    assert [*contradicted({"tensorflow": "2.21.0"}, {"tensorflow": {"tensorflow": "2.20", "tf-cpu": "2.21.0"}})] == []


OLD = packages("jax>=0.4", "numpy==2.4.6", name="jax@old", jax="0.10.2", numpy="2.4.6")


def test_sides_that_were_asked_for_different_versions_and_have_the_same_are_named():
    new = packages("jax>=0.5", "numpy==2.4.6", name="jax@new", jax="0.10.2", numpy="2.4.6")
    same = SameVersion(baseline="jax>=0.4", candidate="jax>=0.5", installed="0.10.2")
    assert same_despite_request(OLD, new) == SameVersions(baseline="jax@old", candidate="jax@new", versions=(same,))


def test_one_difference_is_enough_to_compare():
    new = packages("jax>=0.5", "numpy==2.4.7", name="jax@new", jax="0.10.2", numpy="2.4.7")
    assert same_despite_request(OLD, new) is None


def test_the_same_request_on_both_sides_is_not_a_mistake():
    assert same_despite_request(OLD, OLD) is None
    assert are_alike(OLD, OLD)
