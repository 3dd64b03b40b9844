"""Runs of several data-parallel workers: what is measured, and every way in which one of them can fail."""

from dataclasses import replace
from pathlib import Path
from signal import SIGKILL

import numpy as np
import psutil
import pytest

from pytest_dlbench.environments import Framework
from pytest_dlbench.model import SGD
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.problems import OfWorkers, TimedOut, WorkerDied, WorkersDiffer
from pytest_dlbench.reporting import problems
from pytest_dlbench.running import pinning
from pytest_dlbench.running.training import train_once
from tests.running.specs import BATCH, BUILDERS, STEPS, spec

WORKERS = 2


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(autouse=True)
def no_leaks(tmp_path, monkeypatch):
    """A run leaves no process and no temporary file, whatever its outcome."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    yield
    assert psutil.Process().children(recursive=True) == []
    assert list(temporary.iterdir()) == []


def train(folder: Path, *, workers: int = WORKERS, fault: str = "", placement: str = "together", **changes) -> Run:
    """One run of the double numpy_workers, with a fault of its second worker."""
    usual = spec("numpy_workers", folder)
    framework = Framework(
        name="numpy_workers", builder="numpy_workers", folders=(BUILDERS,), more_variables=(("FAULT", fault),)
    )
    case = replace(usual.case, workers=workers, settings={"placement": placement})
    return train_once(replace(usual, case=case, framework=framework, **changes), 0)


@pytest.fixture(scope="module")
def finished(data_folder) -> Run:
    return train(data_folder)


@pytest.fixture(scope="module")
def shared(data_folder) -> Run:
    return train(data_folder, placement="one_process")


@pytest.fixture(scope="module")
def alone(data_folder) -> Run:
    return train(data_folder, workers=1)


class TestFinished:
    def test_has_the_losses_of_one_worker(self, finished, alone):
        assert finished.outcome is RunOutcome.FINISHED, problems.of_run(finished)
        assert finished.training.losses == pytest.approx(alone.training.losses, rel=1e-6)
        assert finished.evaluation.loss == pytest.approx(alone.evaluation.loss, rel=1e-6)

    def test_counts_the_examples_of_all_workers(self, finished):
        assert (finished.training.examples, finished.training.batch_size) == (STEPS * BATCH, BATCH)

    def test_has_what_each_worker_used(self, finished):
        assert len(finished.workers) == WORKERS
        assert all(share.rss_peak_bytes > 2**20 for share in finished.workers)
        assert finished.usage["train"].rss_peak_bytes > max(share.rss_peak_bytes for share in finished.workers)

    @pytest.mark.skipif(len(pinning.ranked()) < WORKERS, reason="needs a core for each worker")
    def test_gives_each_worker_cores_of_its_own(self, finished):
        cores = [share.cores for share in finished.workers]
        assert all(len(own) == 1 for own in cores)
        assert sorted(core for own in cores for core in own) == list(finished.cores)
        assert len(set(cores)) == WORKERS

    def test_has_steps_without_exchange(self, finished):
        assert finished.exchange.join_seconds > 0
        assert len(finished.exchange.alone_seconds) > 0
        assert all(seconds > 0 for seconds in finished.exchange.alone_seconds)

    def test_of_one_worker_has_none_of_it(self, alone):
        assert (alone.workers, alone.exchange) == ((), None)


class TestDevicesOfOneProcess:
    def test_have_the_losses_of_one_worker_in_one_process(self, shared, alone):
        assert shared.outcome is RunOutcome.FINISHED, problems.of_run(shared)
        assert shared.training.losses == alone.training.losses
        assert shared.training.examples == STEPS * BATCH
        assert len(shared.workers) == 1
        assert len(shared.exchange.alone_seconds) > 0

    @pytest.mark.skipif(len(pinning.ranked()) < WORKERS, reason="needs a core for each worker")
    def test_share_the_cores_of_all_workers(self, shared):
        assert len(shared.cores) == WORKERS

    def test_send_nothing_through_the_network(self, shared):
        assert "loopback_bytes" not in shared.usage["train"].readings

    def test_fail_the_run_if_their_weights_then_differ(self, data_folder):
        run = train(data_folder, placement="one_process", fault="unsynchronised")
        assert run.outcome is RunOutcome.FAILED
        assert run.problem == WorkersDiffer(aspect="weights", ranks=(2,), workers=2)


class TestFaultyExchange:
    """Losses that are not those of one worker; certificates compare them with the same bound."""

    @pytest.mark.parametrize("fault", ["sum", "same part"])
    def test_changes_the_losses(self, data_folder, alone, fault):
        run = train(data_folder, fault=fault)
        assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
        both = np.array([run.training.losses, alone.training.losses])
        assert np.max(np.abs(both[0] - both[1]) / both[1]) > 1e-3

    def test_fails_the_run_if_the_weights_then_differ(self, data_folder):
        run = train(data_folder, fault="unsynchronised")
        assert run.outcome is RunOutcome.FAILED
        assert run.problem == WorkersDiffer(aspect="weights", ranks=(2,), workers=2)


class TestLost:
    def test_worker_is_named_although_the_other_one_fails_first(self, data_folder):
        run = train(data_folder, fault="dies")
        assert run.outcome is RunOutcome.CRASHED
        died = WorkerDied(request="train", cause="signal", number=SIGKILL)
        assert run.problem == OfWorkers(ranks=(2,), workers=2, problem=died)

    def test_worker_that_raises_is_quoted_and_the_others_end(self, data_folder):
        run = train(data_folder, fault="raises")
        assert run.outcome is RunOutcome.FAILED
        assert (run.problem.ranks, run.problem.workers, run.message) == ((2,), 2, "")
        assert run.problem.said.startswith("ValueError: the second worker gave up\nTraceback")

    def test_workers_that_hang_end_at_the_timeout(self, data_folder):
        run = train(data_folder, fault="hangs", timeout_seconds=4.0)
        assert run.outcome is RunOutcome.TIMEOUT
        late = TimedOut(request="train", limit_seconds=4.0)
        assert run.problem == OfWorkers(ranks=(1, 2), workers=2, problem=late)

    def test_versions_that_differ_are_the_outcome(self, data_folder):
        run = train(data_folder, fault="version")
        assert run.outcome is RunOutcome.WRONG_VERSION
        versions = {"numpy_workers": ("1", "2")}
        assert run.problem == WorkersDiffer(aspect="versions", ranks=(1, 2), workers=2, versions=versions)


def test_losses_that_are_not_finite_diverge_on_all_workers(data_folder):
    recipe = replace(spec("numpy_workers", data_folder).recipe, optimizer=SGD(1e308))
    run = train(data_folder, recipe=recipe)
    assert run.outcome is RunOutcome.DIVERGED, problems.of_run(run)
    assert len(run.training.losses) < STEPS
