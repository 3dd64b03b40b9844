"""Kernels of recurrent layers are compared where all runs of a side agree, by name where both sides name them alike."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, kernels
from pytest_dlbench.judging.stored_baseline import session_of
from pytest_dlbench.records import CaseOutcome, CaseResult
from pytest_dlbench.records.reasons import KernelsChanged
from tests.doubles import records

FUSED, SCAN, OTHER_SCAN = {"BlockLSTM": "fused"}, {"While": "scan"}, {"while": "scan"}
CHANGED = KernelsChanged(baseline=FUSED, candidate=SCAN)


def computed(*found):
    return [replace(run, recurrent_kernels=one) for run, one in zip(records.runs(), found, strict=False)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((FUSED, FUSED), FUSED),
        ((FUSED, SCAN), {}),
        ((FUSED, None), {}),
        ((None, None), {}),
        ((), {}),
    ],
)
def test_kernels_on_which_all_runs_agree_are_those_of_a_side(found, expected):
    assert kernels.of_runs(computed(*found)) == expected


@pytest.mark.parametrize(
    ("old", "new", "are_named_alike", "expected"),
    [
        (FUSED, SCAN, True, CHANGED),
        (FUSED, SCAN, False, CHANGED),
        (SCAN, SCAN, True, None),
        (SCAN, OTHER_SCAN, True, KernelsChanged(baseline=SCAN, candidate=OTHER_SCAN)),
        (SCAN, OTHER_SCAN, False, None),
        ({}, SCAN, True, None),
        (SCAN, {}, False, None),
    ],
)
def test_other_kernels_are_a_change(old, new, are_named_alike, expected):
    assert kernels.change(old, new, are_named_alike=are_named_alike) == expected


def test_a_stored_session_has_the_kernels_of_its_runs():
    runs = computed(SCAN, SCAN)
    session = session_of(records.record(runs), name="s", saved="2026-11-21T02:14:05", reason="r", metrics=METRICS)
    assert session.recurrent_kernels == SCAN


@pytest.mark.parametrize(("outcome", "is_cause"), [(CaseOutcome.REGRESSED, True), (CaseOutcome.PASSED, False)])
def test_a_change_is_a_cause_of_what_got_worse_and_a_notice_elsewhere(outcome, is_cause):
    result = CaseResult(case=records.case(), outcome=outcome, runs=3, figures={})
    found = kernels.with_change(result, CHANGED)
    assert (found.outcome, found.reasons, found.cautions) == (
        (outcome, (CHANGED,), ()) if is_cause else (outcome, (), (CHANGED,))
    )
    assert kernels.with_change(result, None) is result
