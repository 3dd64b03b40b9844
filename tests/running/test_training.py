"""One run in a real worker process: every way in which it can end, and what is recorded by then."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from signal import SIGABRT, SIGSEGV
from time import process_time

import psutil
import pytest

from pytest_dlbench.environments import Framework
from pytest_dlbench.model import SGD, Dense, Flatten, Recipe, ReLU
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.problems import Hung, NotFinite, NotPrepared, StepsMissing, TimedOut, WorkerDied
from pytest_dlbench.running import idleness, launch, pinning
from pytest_dlbench.running.training import train_once
from tests.running.specs import BATCH, BUILDERS, CLASSES, STEPS, spec


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def run(data_folder):
    """Train with a double, once."""

    def run(builder: str, *, index: int = 0, **changes) -> Run:
        return train_once(spec(builder, data_folder, **changes), index)

    return run


@pytest.fixture(autouse=True)
def no_leaks(tmp_path, monkeypatch):
    """A run leaves no process, open file or temporary file, whatever its outcome."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = _open_files()
    yield
    assert psutil.Process().children(recursive=True) == []
    assert list(temporary.iterdir()) == []
    assert _open_files() == before


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture(scope="module")
def finished(data_folder) -> Run:
    return train_once(spec("numpy_softmax", data_folder), 2)


def test_a_profiler_that_ends_the_worker_does_not_cost_the_run(run):
    found = run("dies_counting")
    assert found.outcome is RunOutcome.FINISHED
    assert (found.counts, found.evaluation is None) == (None, False)
    assert found.absent["counts"] == "the framework's counting ended the worker"


class TestFinished:
    def test_has_neither_problem_nor_message_nor_log(self, finished):
        assert finished.outcome is RunOutcome.FINISHED
        assert (finished.problem, finished.message, finished.log) == (None, "", ())

    def test_has_its_case_index_and_seed(self, finished):
        assert finished.case == "training-numpy_softmax-small-synthetic-cpu-smoke"
        assert (finished.index, finished.seed) == (2, 3)

    def test_has_every_step(self, finished):
        assert len(finished.training.losses) == len(finished.training.step_seconds) == STEPS
        assert (finished.training.examples, finished.training.batch_size) == (STEPS * BATCH, BATCH)

    def test_has_an_evaluation_of_the_whole_split(self, finished):
        assert finished.evaluation.examples == 320
        assert 0 < finished.evaluation.correct <= 320

    def test_has_the_shapes_that_were_built(self, finished):
        assert finished.parameters == {"fc1.weight": (20, CLASSES), "fc1.bias": (CLASSES,)}

    def test_has_the_usage_of_every_phase(self, finished):
        assert list(finished.usage) == ["hello", "build", "train", "evaluate", "close"]
        assert all(finished.usage[op].rss_peak_bytes > 2**20 for op in ("hello", "build", "train", "evaluate"))

    def test_has_versions_and_times(self, finished):
        assert {"python", "numpy", "numpy_softmax"} <= set(finished.versions)
        assert 0 < finished.import_seconds + finished.build_seconds < finished.wall_seconds

    def test_is_reproducible_from_the_same_seed(self, run):
        runs = [run("numpy_softmax", index=index) for index in (0, 0, 1)]
        losses = [run.training.losses for run in runs]
        assert losses[0] == losses[1] != losses[2]

    def test_may_start_from_the_frameworks_own_weights(self, run):
        recipe = Recipe(batch_size=BATCH, epochs=1, optimizer=SGD(0.1), init="framework")
        own, shared = (run("numpy_softmax", **changes).training.losses for changes in ({"recipe": recipe}, {}))
        assert own[0] != shared[0]


class TestDiverged:
    def test_keeps_the_steps_before_the_loss_became_nan(self, run):
        diverged, finished = run("diverges"), run("numpy_softmax")
        assert diverged.outcome is RunOutcome.DIVERGED
        assert diverged.problem == NotFinite(figure="loss", value="nan", step=5, steps=STEPS)
        assert diverged.training.losses == finished.training.losses[:4]
        assert diverged.evaluation is None

    def test_by_its_test_loss_keeps_the_training(self, run):
        diverged = run("diverges_in_evaluation")
        assert diverged.outcome is RunOutcome.DIVERGED
        assert diverged.problem == NotFinite(figure="test_loss", value="inf", step=STEPS, steps=STEPS)
        assert len(diverged.training.losses) == STEPS
        assert diverged.evaluation is None

    def test_results_from_a_far_too_high_learning_rate(self, run):
        diverged = run("numpy_softmax", recipe=Recipe(batch_size=BATCH, epochs=1, optimizer=SGD(1e39)), steps=20)
        assert diverged.outcome is RunOutcome.DIVERGED
        assert (diverged.problem.figure, diverged.problem.value) == ("loss", "nan")


class TestOutOfMemory:
    def test_is_the_outcome_for_an_array_that_does_not_fit(self, run):
        ended = run("asks_for_too_much")
        assert ended.outcome is RunOutcome.OUT_OF_MEMORY
        assert "Unable to allocate 8.00 PiB" in ended.message

    def test_is_the_outcome_for_a_frameworks_own_error(self, run):
        ended = run("device_out_of_memory")
        assert ended.outcome is RunOutcome.OUT_OF_MEMORY
        assert ended.message == "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB"


def test_a_gpu_for_which_a_framework_has_no_kernels_is_unsupported(run):
    ended = run("lacks_kernels")
    assert ended.outcome is RunOutcome.UNSUPPORTED
    assert "no kernel image is available" in ended.message


@pytest.fixture(scope="module")
def late(data_folder) -> Run:
    return train_once(spec("sleeps", data_folder, steps=60, timeout_seconds=1.5), 0)


class TestTimeout:
    def test_ends_the_run_and_has_its_limit(self, late):
        assert late.outcome is RunOutcome.TIMEOUT
        assert late.problem == TimedOut(request="train", limit_seconds=1.5)
        assert 1.5 <= late.wall_seconds < 10

    def test_a_worker_that_hangs_is_found_before_it(self, data_folder, monkeypatch):
        monkeypatch.setattr(idleness, "IDLE_SECONDS", 1.0)
        hung = train_once(spec("hangs_first", data_folder), 0)
        assert hung.outcome is RunOutcome.TIMEOUT
        assert isinstance(hung.problem, Hung)
        assert hung.problem.request == "train"
        assert 1 <= hung.wall_seconds < 20

    def test_a_worker_that_computes_does_not_hang(self, data_folder, monkeypatch):
        monkeypatch.setattr(idleness, "IDLE_SECONDS", 0.5)
        assert train_once(spec("computes_first", data_folder), 0).outcome is RunOutcome.FINISHED

    def test_shows_the_workers_output(self, late):
        assert "step 0" in late.log

    def test_keeps_the_usage_until_then(self, late):
        assert late.usage["train"].samples >= 2


class TestNotPrepared:
    @pytest.mark.parametrize("is_saved", [False, True])
    def test_without_a_folder_for_its_files_a_run_fails_with_what_the_system_said(
        self, run, tmp_path, monkeypatch, is_saved
    ):
        gone = tmp_path / "gone"
        monkeypatch.setattr("tempfile.tempdir", str(gone))
        failed = run("numpy_softmax", is_saved=is_saved)
        assert failed.outcome is RunOutcome.FAILED
        assert isinstance(failed.problem, NotPrepared)
        assert (failed.problem.folder, failed.problem.free_bytes) == (str(gone), None)
        assert f"No such file or directory: '{gone}" in failed.problem.said

    def test_a_python_that_is_gone_fails_the_run(self, data_folder):
        planned = spec("numpy_softmax", data_folder)
        lost = replace(planned, place=replace(planned.place, python=Path("/nonexistent/python")))
        failed = train_once(lost, 0)
        assert failed.outcome is RunOutcome.FAILED
        assert "/nonexistent/python" in failed.problem.said
        assert failed.problem.free_bytes > 0


class TestCrashed:
    def test_has_the_signal_and_the_last_lines(self, run):
        ended = run("crashes")
        assert ended.outcome is RunOutcome.CRASHED
        assert ended.problem == WorkerDied(request="train", cause="signal", number=SIGSEGV)
        assert ended.log[-1] == "about to follow a wild pointer"

    def test_keeps_what_was_measured_before(self, run):
        ended = run("crashes")
        assert ended.import_seconds > 0
        assert ended.parameters
        assert ended.training is None

    def test_in_evaluation_keeps_the_training(self, run):
        ended = run("crashes_in_evaluation")
        assert ended.outcome is RunOutcome.CRASHED
        assert ended.problem == WorkerDied(request="evaluate", cause="signal", number=SIGABRT)
        assert len(ended.training.losses) == STEPS
        assert ended.evaluation is None


class TestFailed:
    def test_quotes_the_error_and_its_traceback(self, run):
        ended = run("raises")
        assert ended.outcome is RunOutcome.FAILED
        first, *trace = ended.message.splitlines()
        assert first == "ValueError: shapes (2,3) and (4,5) not aligned"
        assert trace[0] == "Traceback (most recent call last):"
        assert any("raises.py" in line and "in multiply" in line for line in trace)

    def test_is_the_outcome_for_an_answer_that_is_not_json(self, run):
        ended = run("returns_invalid_json")
        assert ended.outcome is RunOutcome.FAILED
        assert ended.message.startswith("TypeError: Object of type int64 is not JSON serializable")


class TestOthers:
    def test_a_layer_that_a_builder_lacks_is_unsupported(self, run):
        ended = run("numpy_softmax", layers=(Flatten(), ReLU(), Dense(CLASSES)))
        assert ended.outcome is RunOutcome.UNSUPPORTED
        assert ended.message == "the builder numpy_softmax has no relu"

    def test_a_framework_that_cannot_be_imported_is_missing(self, run):
        ended = run("lacks_its_framework")
        assert ended.outcome is RunOutcome.MISSING_FRAMEWORK
        assert ended.message.endswith("cannot import the framework: No module named 'a_framework_that_nobody_has'")

    def test_a_framework_that_lacks_a_system_library_fails_and_names_it(self, run):
        ended = run("lacks_a_library")
        assert ended.outcome is RunOutcome.FAILED
        assert ended.message.startswith("OSError: libnobody-has-this.so.6: cannot open shared object file")

    def test_fewer_steps_than_requested_break_the_protocol(self, run):
        ended = run("skips_steps")
        assert ended.outcome is RunOutcome.BROKEN_PROTOCOL
        assert ended.problem == StepsMissing(unit="steps", requested=STEPS, reported=STEPS - 1, examples=112)

    def test_a_field_of_the_wrong_type_breaks_the_protocol_and_is_named(self, run):
        ended = run("returns_wrong_types")
        assert ended.outcome is RunOutcome.BROKEN_PROTOCOL
        assert "the answer to 'build'" in ended.message
        assert "Expected `int`, got `str`" in ended.message


class TestDriver:
    def test_sleeps_while_a_worker_measures(self, run):
        before = process_time()
        finished = run("sleeps", steps=2)
        assert finished.usage["train"].wall_seconds >= 2
        assert process_time() - before < 0.1 * finished.wall_seconds

    def test_does_not_pass_its_environment_to_workers(self, run, monkeypatch):
        monkeypatch.setenv("PYTHONPATH", "/nowhere")
        monkeypatch.setenv("PYTHONWARNINGS", "error::nonsense")
        monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "64")
        assert run("numpy_softmax").outcome is RunOutcome.FINISHED


class TestConditions:
    @pytest.mark.parametrize("policy", launch.ALLOCATORS)
    def test_of_memory_come_from_the_plan_and_not_from_the_user(self, run, monkeypatch, policy):
        monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=3")
        versions = run("reports_its_surroundings", allocator=policy).versions
        assert versions["GLIBC_TUNABLES"] == versions["seen GLIBC_TUNABLES"] == launch.ALLOCATORS[policy]

    def test_of_cores_are_one_per_thread_and_do_not_change_the_drivers(self, run):
        before = os.sched_getaffinity(0)
        seen = run("reports_its_surroundings")
        assert seen.cores == tuple(pinning.cores(1)) == tuple(json.loads(seen.versions["seen cores"]))
        assert len(seen.cores) == 1
        assert os.sched_getaffinity(0) == before

    def test_of_compiled_code_are_cold_once_and_then_warm(self, run, tmp_path):
        place = replace(spec("compiles_once", tmp_path).place, caches=tmp_path / "caches")
        assert [run("compiles_once", place=place).compiled for _ in range(3)] == ["cold", "warm", "warm"]

    def test_of_compiled_code_are_empty_for_a_framework_that_keeps_none(self, run, tmp_path):
        place = replace(spec("numpy_softmax", tmp_path).place, caches=tmp_path / "caches")
        assert run("numpy_softmax", place=place).compiled == ""


@pytest.mark.parametrize("is_forbidden", [False, True])
def test_what_a_framework_imports_is_compiled_once_unless_the_user_forbids_it(run, tmp_path, monkeypatch, is_forbidden):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    if is_forbidden:
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    builder = BUILDERS / "numpy_softmax.py"
    folder = tmp_path / "builders"
    folder.mkdir()
    shutil.copy(builder, folder)
    own = Framework(name="numpy_softmax", builder=builder.stem, folders=(folder,))
    assert run("numpy_softmax", framework=own).outcome is RunOutcome.FINISHED
    assert (folder / "__pycache__").exists() is not is_forbidden


def test_functions_for_the_exit_and_threads_are_waited_for(data_folder, run):
    found = run("leaves_work_for_the_exit")
    assert (found.outcome, found.survivors) == (RunOutcome.FINISHED, ())
    left = {path.name for path in (data_folder / "caches").iterdir()}
    assert {"by a function for the exit", "by a thread"} <= left
