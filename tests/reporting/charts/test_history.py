"""The sessions of a case, and where its figures changed."""

import pytest

from pytest_dlbench.judging.sessions import CUSUM_REFERENCE
from pytest_dlbench.reporting.charts import Nothing, history
from tests.doubles import records
from tests.doubles.judged import judged, measured, session


def rows(cases, past=()):
    chart = history.chart(measured(*cases), past)
    return [dict(zip(chart.columns, row, strict=True)) for row in chart.rows]


def of_time(cases, past=()):
    return [row for row in rows(cases, past) if ": step_time" in row["series"]]


def past(number, step):
    return history._of_case(measured(session(number, step))[0])


def test_a_case_of_one_session_has_no_history():
    assert isinstance(history.chart(measured(judged(), judged("jax"))), Nothing)


def test_sessions_are_in_chronological_order_in_the_unit_of_the_axis():
    found = of_time([session(2, 0.03), session(1, 0.02)])
    assert [row["figure"] for row in found] == pytest.approx([20, 30])
    assert {row["series"].partition(": ")[2] for row in rows([session(1), session(2)])} == {
        "step_time (ms)",
        "accuracy (%)",
        "peak_rss (MiB)",
    }


def test_a_version_change_is_shown_at_its_session():
    newer = session(2, versions={**records.VERSIONS, "torch": "2.13.0"})
    assert [(row["said"], row["changed"]) for row in of_time([session(1), newer])] == [
        ("as usual", ""),
        ("versions changed", "torch 2.12.0 → 2.13.0"),
    ]


def test_a_lasting_slowdown_is_a_change_point_and_then_drift():
    usual = [session(number, 0.01) for number in range(CUSUM_REFERENCE + 2)]
    slow = [session(CUSUM_REFERENCE + 2 + number, 0.011) for number in range(4)]
    said = [row["said"] for row in of_time([*usual, *slow])]
    assert said == [*["as usual"] * (CUSUM_REFERENCE + 2), "change point", "as usual", "drift", "drift"]


@pytest.mark.parametrize(
    "other", [{"steps": 99}, {"network_digest": "another"}, {"machine": records.machine(name="x")}]
)
def test_sessions_under_other_conditions_are_not_in_the_history(other):
    assert isinstance(history.chart(measured(session(1), judged(session="session-2", context=other))), Nothing)


def test_the_sessions_of_a_history_are_added_once():
    found = of_time([session(3, 0.03)], [past(1, 0.01), past(3, 0.03)])
    assert [row["figure"] for row in found] == pytest.approx([10, 30])


def test_a_history_of_other_cases_is_not_shown():
    assert isinstance(history.chart(measured(judged("jax")), [past(1, 0.01), past(2, 0.01)]), Nothing)
