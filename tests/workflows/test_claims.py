"""Tests of one session that train cases of one name."""

from dataclasses import replace

import pytest

from pytest_dlbench.records.reasons import SharedCaseError
from pytest_dlbench.workflows.claims import Claims
from tests.running.specs import spec


def test_a_case_that_two_tests_train_alike_is_one_case(tmp_path):
    claims, asked = Claims(), spec("clocked", tmp_path)
    claims.claim(asked, "one")
    claims.claim(replace(asked, seed=2), "two")


def test_a_case_that_two_tests_train_differently_is_refused(tmp_path):
    claims, asked = Claims(), spec("clocked", tmp_path)
    claims.claim(asked, "one")
    with pytest.raises(SharedCaseError) as refused:
        claims.claim(replace(asked, recipe=replace(asked.recipe, batch_size=8)), "two")
    assert (refused.value.case, refused.value.tests) == (asked.case.id, ("two", "one"))
