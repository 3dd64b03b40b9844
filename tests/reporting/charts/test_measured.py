"""The names of cases in a report: unique, and without repetition."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.reporting.charts.measured import shared
from tests.doubles.judged import judged, measured

names = st.text("abc-·", min_size=1, max_size=4)


@given(st.lists(st.tuples(names, names, st.integers(1, 3), names), max_size=12))
def test_labels_are_unique(of):
    cases = measured(
        *(
            judged(framework, model, runs=1, threads=threads, session=session)
            for framework, model, threads, session in of
        )
    )
    assert len({case.label for case in cases}) == len(cases)


@given(st.lists(st.tuples(names, names), min_size=1, max_size=12))
def test_cases_are_grouped_by_cell(of):
    cells = [case.cell for case in measured(*(judged(framework, model, runs=1) for framework, model in of))]
    changes = sum(before != after for before, after in pairwise(cells))
    assert changes == len(set(cells)) - 1


def test_labels_have_what_differs_and_omit_what_is_shared():
    cases = measured(judged(threads=1), judged(threads=2))
    assert [case.label for case in cases] == [
        "pytorch · tartu-mnist-cnn · 1 thread",
        "pytorch · tartu-mnist-cnn · 2 threads",
    ]
    assert shared(cases) == ("digits28", "cpu", "quick")


def test_sessions_are_distinguished_by_their_start_times():
    cases = measured(judged(session="20261121T114113-1"), judged(session="20261121T120500-2"))
    assert [case.cell for case in cases] == ["tartu-mnist-cnn · 11-21 11:41", "tartu-mnist-cnn · 11-21 12:05"]


def test_sessions_of_the_same_minute_have_their_seconds():
    sessions = ("20261121T114113-1", "20261121T114159-2", "20261121T120500-3")
    assert [case.label for case in measured(*(judged(session=session) for session in sessions))] == [
        "pytorch · tartu-mnist-cnn · 11-21 11:41:13",
        "pytorch · tartu-mnist-cnn · 11-21 11:41:59",
        "pytorch · tartu-mnist-cnn · 11-21 12:05",
    ]


def test_sessions_of_the_same_second_have_their_full_names():
    cases = measured(judged(session="20261121T114113-1"), judged(session="20261121T114113-2"))
    assert cases[0].cell.endswith("20261121T114113-1")


def test_a_workload_is_a_cell_without_threads_and_a_subject_one_without_settings():
    case, _ = measured(judged(settings={"batch_size": 16}, threads=1), judged(settings={"batch_size": 32}, threads=2))
    assert case.workload == "tartu-mnist-cnn · batch_size 16"
    assert case.subject == "tartu-mnist-cnn · 1 thread"


def test_a_job_is_a_cell_without_the_device():
    case, _ = measured(judged(device="cpu", threads=1), judged(device="gpu", threads=2))
    assert (case.cell, case.job) == ("tartu-mnist-cnn · cpu · 1 thread", "tartu-mnist-cnn · 1 thread")


def test_a_run_that_failed_a_sanity_check_is_not_drawn():
    found = judged()
    impossible = replace(found.runs[0], outcome=RunOutcome.FAILED, message="impossible: …")
    (case,) = measured(replace(found, runs=(impossible, *found.runs[1:])))
    assert [run.index for run in case.sound] == [1, 2]
