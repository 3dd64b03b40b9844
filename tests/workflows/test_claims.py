"""Several tests of a session that train a case of the same name."""

from dataclasses import replace

import pytest

from pytest_dlbench.records.reasons import SharedCaseError
from pytest_dlbench.workflows.claims import Claims
from tests.running.specs import spec


def test_two_tests_may_train_a_case_alike(tmp_path):
    claims, asked = Claims(), spec("clocked", tmp_path)
    claims.claim(asked, "one")
    claims.claim(replace(asked, seed=2), "two")


def test_two_tests_that_train_a_case_differently_are_refused(tmp_path):
    claims, asked = Claims(), spec("clocked", tmp_path)
    claims.claim(asked, "one")
    with pytest.raises(SharedCaseError) as refused:
        claims.claim(replace(asked, recipe=replace(asked.recipe, batch_size=8)), "two")
    assert (refused.value.case, refused.value.tests) == (asked.case.id, ("two", "one"))
