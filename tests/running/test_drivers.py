"""Whole driver processes: one that is killed, and two that need the same device."""

import json
import select
import signal
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records.reasons import NotExamined
from pytest_dlbench.running import devices, pinning
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.series import train_series
from tests.running.processes import IN_VAIN, PATIENCE_SECONDS, is_running, wait_for
from tests.running.specs import spec

ROOT = Path(__file__).parents[2]


def worker_of(driver: subprocess.Popen[str]) -> psutil.Process:
    """The worker of a driver, once it runs; its guard is no worker."""

    def found() -> list[psutil.Process]:
        children = psutil.Process(driver.pid).children()
        return [child for child in children if "dlworker" in child.cmdline()]

    return wait_for(found)[0]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_does_not_outlive_its_driver(start, tmp_path, end):
    driver = start("sleeps", 1, 600)
    wait_for(lambda: [log for log in tmp_path.glob("dlbench-run-*/worker.log") if "step 0" in log.read_text()])
    worker = worker_of(driver)
    driver.send_signal(end)
    driver.wait(PATIENCE_SECONDS)
    # By itself it would take many times as long as this waits.
    wait_for(lambda: not is_running(worker))


def test_an_interrupted_driver_leaves_neither_worker_nor_files(start, tmp_path):
    driver = start("sleeps", 1, 600)
    (folder,) = wait_for(lambda: list(tmp_path.glob("dlbench-run-*")))
    worker = worker_of(driver)
    driver.send_signal(signal.SIGINT)
    assert driver.wait(PATIENCE_SECONDS) != 0
    wait_for(lambda: not is_running(worker))
    assert not folder.exists()


def test_two_drivers_do_not_share_a_device(start, tmp_path):
    drivers = {driver.pid: driver for driver in (start("waits_for_go", 3, 8) for _ in range(2))}
    # One has started its series and waits for the file; the first output is that the other one waits for it.
    (ready, *_), _, _ = select.select([driver.stdout for driver in drivers.values()], [], [], PATIENCE_SECONDS)
    (second,) = [pid for pid, driver in drivers.items() if driver.stdout is ready]
    (first,) = set(drivers) - {second}
    assert ready.readline() == f"waiting for {first}\n"
    (tmp_path / "go").touch()
    runs = {pid: len(driver.stdout.read().splitlines()) for pid, driver in drivers.items()}
    assert set(runs.values()) == {3}
    read = [json.loads(file.read_text()) for file in tmp_path.glob("interval-*.json")]
    measured = sorted(read, key=lambda interval: interval["began"])
    assert [interval["driver"] for interval in measured] == [first] * 3 + [second] * 3
    assert all(one["ended"] < following["began"] for one, following in pairwise(measured))


class TestSeries:
    @pytest.fixture(autouse=True)
    def own_cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setenv("DLBENCH_LOCKS", str(tmp_path / "locks"))

    def test_keeps_each_run_before_the_next_and_gives_each_its_own_seed(self, tmp_path):
        events: list[tuple[str, int]] = []

        class Listening(Silent):
            def run_started(self, case, index, runs, side=""):  # noqa: ARG002
                events.append(("started", index))

            def run_finished(self, case, run, index, runs, side=""):  # noqa: ARG002
                events.append(("finished", run.index))

        kept = []
        runs = train_series(spec("numpy_softmax", tmp_path), 2, keep=kept.append, progress=Listening())
        assert list(runs) == kept
        assert [(run.index, run.seed) for run in runs] == [(0, 1), (1, 2)]
        assert events == [("started", 0), ("finished", 0), ("started", 1), ("finished", 1)]

    def test_reports_each_phase_of_each_run(self, tmp_path):
        events: list[str] = []

        class Listening(Silent):
            def run_started(self, case, index, runs, side=""):  # noqa: ARG002
                events.append(f"run {index}")

            def phase_began(self, phase):
                events.append(phase)

        asked = spec("numpy_softmax", tmp_path, evaluate_after=(3,))
        train_series(asked, 2, keep=[].append, progress=Listening())
        phases = ["import", "build", "first step and 2 more of 8", "evaluation", "steps 4 to 8 of 8", "evaluation"]
        assert events == ["run 0", *phases, "check of updates", "count", "end", "run 1", *phases, "count", "end"]

    def test_repeats_an_invalid_run_and_keeps_all_repetitions(self, tmp_path):
        kept = []

        def examine(_, run):
            return replace(run, invalid=("a neighbour",) if len(kept) < 2 else ())

        runs = train_series(
            spec("numpy_softmax", tmp_path), 2, keep=kept.append, progress=Silent(), examine=examine, repeats=5
        )
        assert [run.index for run in kept] == [0, 0, 0, 1]
        assert list(runs) == kept[2:]

    def test_limits_the_number_of_repetitions(self, tmp_path):
        def examine(_, run):
            return replace(run, invalid=("a neighbour",))

        kept = []
        runs = train_series(
            spec("numpy_softmax", tmp_path), 2, keep=kept.append, progress=Silent(), examine=examine, repeats=2
        )
        assert [run.index for run in kept] == [0, 0, 0, 1]
        assert all(run.invalid for run in runs)

    @pytest.mark.parametrize(
        ("error", "said"),
        [(KeyboardInterrupt(), "KeyboardInterrupt"), (OSError(28, "full"), "OSError: [Errno 28] full")],
    )
    def test_keeps_a_finished_run_whose_examination_is_prevented(self, tmp_path, error, said):
        def examine(_, run):
            raise error

        kept = []
        with pytest.raises(type(error)):
            train_series(spec("numpy_softmax", tmp_path), 2, keep=kept.append, progress=Silent(), examine=examine)
        (run,) = kept
        assert (run.outcome, len(run.training.losses)) == (RunOutcome.FINISHED, 8)
        assert run.invalid == (NotExamined(said=said),)

    def test_keeps_one_that_did_not_finish_as_it_is(self, tmp_path):
        def examine(_, run):
            raise KeyboardInterrupt

        kept = []
        with pytest.raises(KeyboardInterrupt):
            train_series(spec("raises", tmp_path), 2, keep=kept.append, progress=Silent(), examine=examine)
        assert [(run.outcome, run.invalid) for run in kept] == [(RunOutcome.FAILED, ())]

    def test_ends_with_the_first_run_that_does_not_finish(self, tmp_path):
        runs = train_series(spec("raises", tmp_path), 3, keep=[].append, progress=Silent())
        assert [run.outcome for run in runs] == [RunOutcome.FAILED]

    def test_of_untimed_runs_is_concurrent_with_others_on_its_own_cores(self, tmp_path):
        class NeverWaiting(Silent):
            def waiting(self, case, wait):
                pytest.fail(f"{case.id} waits for {wait}")

        free, *others = pinning.ranked()
        asked = spec("reports_its_surroundings", tmp_path, is_timed=False)
        with devices.shared(len(others), IN_VAIN, others):
            (run,) = train_series(asked, 1, keep=[].append, progress=NeverWaiting())
        assert run.cores == (free,)

    def test_releases_the_device_however_it_ends(self, tmp_path):
        def interrupt(run):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_series(spec("numpy_softmax", tmp_path), 3, keep=interrupt, progress=Silent())
        with devices.held("cpu", IN_VAIN):
            pass
