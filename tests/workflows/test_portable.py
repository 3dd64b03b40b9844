"""Cases without a baseline of their machine class, compared with what does not depend on the machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench import options
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.judging import METRICS
from pytest_dlbench.records import PORTABLE, CaseOutcome
from pytest_dlbench.records.reasons import NoBaseline, Portable, PortableUnused
from pytest_dlbench.reporting.explain import message
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.workflows.baseline_gate import Comparer, add_portable
from tests.doubles import records

TOLERANCES = options.read({}.get, {}.get, Path()).tolerance
ELSEWHERE = records.context(machine=records.machine(name="linux-beta-64cores-256gib", cores=64))


@pytest.fixture
def store(tmp_path):
    """A store with a portable baseline only."""
    store = BaselineStore(folder=tmp_path / "baselines")
    add_portable(store, records.record(), "the first figures", metrics=METRICS)
    return store


def compared(store, *, accuracy=0.95, suite=None, **context):
    runs = records.runs(accuracies=(accuracy,) * 3, steps=(0.5,) * 3)
    record = records.record(runs, context=replace(ELSEWHERE, **context))
    return comparer(store, suite).compare(record, FRAMEWORKS["pytorch"], "bench/test.py::test", TOLERANCES)


def comparer(store, suite=None):
    return Comparer(baselines=store, metrics=METRICS, suite=suite)


def outcomes(result):
    return {verdict.metric: verdict.outcome.value for verdict in result.verdicts}


def test_a_first_session_on_another_machine_class_has_no_baseline_and_is_equivalent_where_it_can_be(store):
    result = compared(store)
    assert result.outcome is CaseOutcome.NO_BASELINE
    assert outcomes(result) == dict.fromkeys(("parameters", "first_loss", "accuracy"), "equivalent")
    assert [type(reason) for reason in result.reasons] == [Portable, NoBaseline]
    assert "time, memory and whatever else depends on the machine: nothing to compare with" in message(result)


def test_lost_accuracy_is_regressed_on_any_machine(store):
    result = compared(store, accuracy=0.9)
    assert result.outcome is CaseOutcome.REGRESSED
    assert outcomes(result)["accuracy"] == "regressed"
    assert f"dlbench baseline portable .dlbench --case {records.case().id}" in message(result)


@pytest.mark.parametrize(
    ("differs", "named"),
    [({"network_digest": "another"}, "network"), ({"steps": 7}, "steps"), ({"precision": "bfloat16"}, "precision")],
)
def test_other_conditions_are_not_compared_and_named(store, differs, named):
    result = compared(store, **differs)
    assert (result.outcome, result.verdicts) == (CaseOutcome.NO_BASELINE, ())
    (unused,) = [reason for reason in result.reasons if isinstance(reason, PortableUnused)]
    assert [difference.name for difference in unused.differences] == [named]
    assert f"is not used: it was made under different conditions:\n  {named} " in message(result)


def test_baselines_of_other_machine_classes_leave_a_case_incomparable(store):
    store.write(records.baseline())
    result = compared(store)
    assert (result.outcome, outcomes(result)["accuracy"]) == (CaseOutcome.INCOMPARABLE, "equivalent")


def test_a_portable_baseline_is_none_of_another_machine_class(store):
    assert store.others(records.case(), ELSEWHERE.machine) == ()


def test_a_damaged_portable_baseline_is_an_outcome(store):
    path = store.path(records.case(), PORTABLE)
    path.write_text(path.read_text().replace("0.95", "0.05"))
    result = compared(store)
    assert result.outcome is CaseOutcome.DAMAGED_BASELINE
    assert result.reasons[0].path == str(path)


def test_the_baseline_of_the_machine_class_is_used_alone(store):
    store.write(records.baseline())
    record = records.record(records.runs(accuracies=(0.9,) * 3))
    result = comparer(store).compare(record, FRAMEWORKS["pytorch"], "bench/test.py::test", TOLERANCES)
    assert not any(isinstance(reason, Portable) for reason in result.reasons)
    assert "step_time" in outcomes(result)


def test_a_suite_has_portable_baselines_next_to_its_tests_and_the_session_its_own(store, tmp_path):
    suite = tmp_path / "suite"
    own = BaselineStore(folder=suite / "baselines")
    add_portable(own, records.record(records.runs(accuracies=(0.8,) * 3)), "of the suite", metrics=METRICS)
    empty = BaselineStore(folder=tmp_path / "empty")
    assert compared(empty, accuracy=0.7, suite=suite).outcome is CaseOutcome.REGRESSED
    assert compared(empty, suite=suite).reasons[0].why == "of the suite"
    assert compared(store, suite=suite).reasons[0].why == "the first figures"


def test_another_session_is_added_and_a_changed_metric_starts_a_new_level(store):
    add_portable(store, records.record(), "once more", metrics=METRICS)
    add_portable(store, records.record(records.runs(accuracies=(0.9,) * 3)), "accepted", metrics=METRICS)
    sessions = store.read(records.case(), PORTABLE).sessions
    assert [session.accepted for session in sessions] == [(), (), ("accuracy",)]
    assert outcomes(compared(store, accuracy=0.9))["accuracy"] == "equivalent"


def test_a_figure_that_a_portable_baseline_has_and_some_run_has_not_leaves_the_case_open(store):
    runs = records.runs()
    tokens = [replace(run, evaluation=replace(run.evaluation, answers="tokens")) for run in runs]
    add_portable(store, records.record(tokens), "with perplexity", metrics=METRICS)

    def judged(of):
        record, tolerances = records.record(of, context=ELSEWHERE), {**TOLERANCES, "perplexity": 0.05}
        return comparer(store).compare(record, FRAMEWORKS["pytorch"], "bench/test.py::test", tolerances)

    found = judged(tokens)
    assert found.outcome is CaseOutcome.NO_BASELINE
    assert "perplexity" in {verdict.metric for verdict in found.verdicts}
    found = judged([*tokens[1:], runs[0]])
    assert found.outcome is CaseOutcome.INCONCLUSIVE
    assert message(found).endswith("has what some run of this session has not: perplexity")
