"""What a run records about time, and about processes that outlive its worker."""

import math
import platform
import threading
from dataclasses import replace
from time import monotonic

import psutil
import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running import connection, training
from pytest_dlbench.running.run_hooks import NO_HOOKS
from pytest_dlbench.running.training import train_once
from pytest_dlbench.storing import Entry, Journal, read_journal
from tests.running.specs import STEPS, context, spec


@pytest.fixture(scope="module")
def paced(tmp_path_factory):
    return train_once(spec("paced", tmp_path_factory.mktemp("data")), 0)


def test_steps_are_within_their_phase_on_the_same_clock(paced):
    training, phase = paced.training, paced.usage["train"]
    ended = training.began_seconds + sum(training.step_seconds)
    assert phase.began_seconds < training.began_seconds < ended < phase.began_seconds + phase.wall_seconds


def test_loading_is_before_the_first_step(paced):
    training = paced.training
    assert 0 < training.load_seconds < training.began_seconds - paced.usage["train"].began_seconds + 0.01


def test_versions_include_the_python_that_prepares_data(paced):
    assert paced.versions["driver-python"] == platform.python_version()


@pytest.mark.parametrize("is_unplugged", [False, True])
def test_a_run_records_whether_the_machine_was_on_battery(tmp_path, monkeypatch, is_unplugged):
    monkeypatch.setattr(training, "is_on_battery", lambda: is_unplugged)
    assert train_once(spec("numpy_softmax", tmp_path), 0).on_battery is is_unplugged


def test_the_timeline_covers_all_phases(paced):
    line = paced.timeline
    assert 0 < line.seconds[0] < paced.usage["train"].began_seconds < line.seconds[-1] < paced.wall_seconds
    assert list(line.cpu_seconds) == sorted(line.cpu_seconds)


def test_a_child_that_outlives_its_worker_is_ended_and_reported(tmp_path):
    run = train_once(spec("leaves_a_child", tmp_path), 0)
    assert len(run.training.losses) == STEPS
    assert len(run.survivors) == 1
    assert psutil.Process().children(recursive=True) == []


class Meter:
    """A meter that has no reading."""

    def __init__(self, pid):
        """Meters the whole machine."""

    def begin(self):
        """Begin to meter."""

    sample = begin

    def end(self):
        return {"x": math.nan, "y": math.inf, "z": 1.0}


def test_a_run_with_readings_that_are_not_finite_is_read_from_a_journal_with_the_reason(tmp_path):
    run = train_once(spec("numpy_softmax", tmp_path), 0, replace(NO_HOOKS, samplers=(Meter,)))
    journal = Journal(tmp_path)
    journal.append(Entry(run=run, context=context()))
    (found,) = read_journal(journal.path)
    assert isinstance(found, Entry), found.message
    assert found.run == run
    assert "x" not in found.run.usage["train"].readings
    assert found.run.usage["train"].readings["z"] == 1.0
    reasons = [found.run.absent[name] for name in ("x", "y")]
    assert reasons == [f"Meter returned {value} at the end of a phase" for value in ("nan", "inf")]


@pytest.fixture
def no_leaks():
    """The test leaves no new process or thread."""
    threads = threading.active_count()
    yield
    assert psutil.Process().children(recursive=True) == []
    assert threading.active_count() == threads


@pytest.mark.usefixtures("no_leaks")
def test_when_a_worker_is_killed_its_sampler_and_child_end_too(tmp_path):
    run = train_once(spec("leaves_a_child_and_dies", tmp_path), 0)
    assert (run.outcome, len(run.survivors)) == (RunOutcome.CRASHED, 1)


@pytest.mark.usefixtures("no_leaks")
def test_when_a_worker_hangs_its_sampler_and_child_end_too(tmp_path, monkeypatch):
    # The driver's clock jumps ahead once the worker hangs, so that a busy machine has time to start it.
    hangs = tmp_path / "caches" / "hangs"
    monkeypatch.setattr(connection, "monotonic", lambda: monotonic() + 1000 * hangs.exists())
    run = train_once(spec("leaves_a_child_and_hangs", tmp_path), 0)
    assert (run.outcome, len(run.survivors)) == (RunOutcome.TIMEOUT, 1)


def test_the_peak_that_an_allocator_reports_is_recorded(tmp_path):
    assert train_once(spec("reports_gpu_memory", tmp_path), 0).training.device_peak_bytes == 1000 + STEPS
    assert train_once(spec("numpy_softmax", tmp_path), 0).training.device_peak_bytes is None


@pytest.mark.parametrize(
    ("builder", "reason"), [("hides_gpu_memory", "it reports none"), ("fails_at_gpu_memory", "OSError: lost")]
)
def test_a_peak_that_an_allocator_does_not_report_is_absent_with_the_reason(tmp_path, builder, reason):
    run = train_once(spec(builder, tmp_path), 0)
    assert run.outcome is RunOutcome.FINISHED
    assert (run.training.device_peak_bytes, run.absent["GPU allocated"]) == (None, reason)
