"""Whether the library that was asked for computes, by what the libraries report."""

from dataclasses import replace

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records.problems import OtherLibrary
from pytest_dlbench.running import launch
from pytest_dlbench.running.libraries import other_library
from pytest_dlbench.running.training import train_once
from tests.running.specs import spec

ONEDNN, EIGENS, MKL = {"onednn": {"convolution": 5, "reorder": 2}}, {"onednn": {"gemm_api": 9}}, {"mkl": {"SGEMM": 1}}


@pytest.mark.parametrize(
    ("requested", "calls"),
    [
        ("onednn", ONEDNN),
        ("onednn", ONEDNN | MKL),
        ("ideep", ONEDNN),
        ("ideep", ONEDNN | MKL),
        ("mkl", MKL),
        ("eigen", EIGENS),
        ("eigen", {}),
        ("openblas", {}),
    ],
)
def test_a_library_computes_if_it_reports_its_kernels_and_no_other_does(requested, calls):
    assert other_library("framework", requested, calls) is None


@pytest.mark.parametrize(
    ("requested", "calls"),
    [
        ("onednn", {}),
        ("onednn", MKL),
        ("onednn", EIGENS),
        ("onednn", {"onednn": {"reorder": 2}}),
        ("mkl", ONEDNN | MKL),
        ("mkl", {}),
        ("eigen", ONEDNN),
        ("openblas", MKL),
    ],
)
def test_another_library_is_found(requested, calls):
    expected = OtherLibrary(framework="framework", requested=requested, calls=calls)
    assert other_library("framework", requested, calls) == expected


def trained(library, folder, index=0):
    plain = spec("claims_onednn", folder)
    return train_once(replace(plain, recipe=replace(plain.recipe, library=library)), index)


def test_a_run_fails_if_its_builder_only_claims_the_library(tmp_path):
    found = trained("onednn", tmp_path)
    expected = OtherLibrary(framework="claims_onednn", requested="onednn", calls={})
    assert (found.outcome, found.problem, found.library_calls) == (RunOutcome.FAILED, expected, {})


def test_a_run_has_the_calls_of_its_libraries_and_no_figure_of_them(tmp_path):
    found = trained("openblas", tmp_path)
    assert (found.outcome, found.library_calls) == (RunOutcome.FINISHED, {})
    assert "library_calls" not in found.usage


def test_libraries_are_asked_in_the_first_run_only(tmp_path):
    plain = spec("claims_onednn", tmp_path)
    later = train_once(replace(plain, recipe=replace(plain.recipe, library="onednn")), 1)
    assert (later.outcome, later.library_calls) == (RunOutcome.FINISHED, None)


def test_a_worker_starts_with_the_variable_of_its_library(tmp_path):
    place = Place(python=tmp_path, environment=CURRENT, caches=tmp_path / "caches")
    asked = {"device": "cpu", "threads": 1, "execution": ("library=openblas",)}
    assert launch.environment(FRAMEWORKS["mxnet"], place, **asked)["MXNET_MKLDNN_ENABLED"] == "0"
