"""What is planted in a case that is calibrated, and the level at which it is judged."""

from types import SimpleNamespace

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.multiple_testing import BUDGET
from pytest_dlbench.judging.terms import terms_of
from pytest_dlbench.judging.undecided import FIRST_LEVEL
from pytest_dlbench.records import Fault
from pytest_dlbench.workflows import calibrate
from pytest_dlbench.workflows.false_alarms import FalseAlarmBudget
from tests.running import specs
from tests.storing.test_calibrations import FOUND


@pytest.fixture
def calibrated(tmp_path, monkeypatch):
    """Calibrate a case without running it; returns the results that were kept."""
    monkeypatch.setattr(calibrate, "decided", lambda _, spec: spec)
    monkeypatch.setattr(calibrate, "against_itself", lambda *_: FOUND)
    monkeypatch.setattr(calibrate, "detect", lambda _session, _spec, planted, _terms: Fault(name=planted.name))

    def call(purpose, tolerances):
        kept = []
        spec = specs.spec("softmax", tmp_path, purpose=purpose)
        calibrate.calibrate(None, spec, terms_of(tolerances, 20, (), METRICS), 5, kept.append)
        return kept

    return call


def test_every_fault_of_a_training_is_kept(calibrated):
    *_, last = calibrated("training", {"step_time": 0.05, "accuracy": 1.0})
    assert [fault.name for fault in last.faults] == [
        *("10 % slower", "5 % slower", "2 % slower", "1 % slower"),
        *("half the learning rate", "dropout off"),
    ]


@pytest.mark.parametrize(
    ("purpose", "tolerances"), [("inference", {"latency": 0.05}), ("operator", {"forward_time": 0.05})]
)
def test_nothing_is_planted_in_what_is_no_training(calibrated, purpose, tolerances):
    assert calibrated(purpose, tolerances) == [FOUND]


def level(share):
    return calibrate._alpha(SimpleNamespace(policy=SimpleNamespace(false_alarms=share)))


@pytest.mark.parametrize("share", [BUDGET, 0.001, 0.1])
def test_the_level_is_that_of_a_session_of_one_case(share):
    assert level(share) == FalseAlarmBudget(share=share, tests=1).levels("t")()


def test_by_default_the_level_is_a_quarter_of_the_budget():
    assert level(BUDGET) == FIRST_LEVEL == pytest.approx(0.0025)


def test_a_budget_that_is_spent_at_once_gives_the_smallest_level():
    assert FalseAlarmBudget(share=0.000005).levels("t")() is None
    assert level(0.000005) == LEAST_ALPHA
