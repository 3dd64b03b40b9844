"""Runs on the driver's own machine."""

import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running.hosts import local
from pytest_dlbench.running.run_hooks import NO_HOOKS
from tests.running.specs import spec

HOST = local.LocalHost(specs=())


@pytest.fixture
def of_any_length(monkeypatch):
    monkeypatch.setattr(local, "LONG_SECONDS", 0.0)


@pytest.mark.usefixtures("of_any_length")
def test_after_a_long_run_it_is_measured_whether_the_cores_are_steady(tmp_path):
    run = HOST.train(spec("numpy_softmax", tmp_path), 0, NO_HOOKS)
    assert run.outcome is RunOutcome.FINISHED
    assert 1.0 <= run.core_variation < 10.0


def test_a_short_run_must_not_take_longer_for_it(tmp_path):
    assert HOST.train(spec("numpy_softmax", tmp_path), 0, NO_HOOKS).core_variation is None


@pytest.mark.usefixtures("of_any_length")
@pytest.mark.parametrize(("builder", "is_timed"), [("numpy_softmax", False), ("crashes", True)])
def test_nothing_is_measured_where_no_time_counts(tmp_path, builder, is_timed):
    assert HOST.train(spec(builder, tmp_path, is_timed=is_timed), 0, NO_HOOKS).core_variation is None
