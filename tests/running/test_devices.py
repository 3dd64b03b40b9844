"""Which process waits for which, among processes that do nothing but lock a device."""

import getpass
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pytest_dlbench.running import devices, lock_folder
from pytest_dlbench.running.waits import DeviceBusyError, Patience, Wait
from tests.doubles.nvml import A100, SLICE, T4
from tests.running.processes import IN_VAIN

# Prints the GPU or the cores that it has locked, until its input ends; "waits" comes first if it has to wait.
HOLDS = """
import sys
from pytest_dlbench.running import devices
from pytest_dlbench.running.waits import Patience
what, *named = sys.argv[1:]
devices.WAIT_PERIOD_SECONDS = 0.02

def waits(wait):
    print("waits", flush=True)

cores, patience = map(int, named) if what.isdigit() else (), Patience(waiting=waits)
if what.isdigit():
    locked = devices.shared(int(what), patience, list(cores))
else:
    locked = devices.held(what, patience, lambda: named)
with locked as found:
    print("has", *(sorted(found) if what.isdigit() else [found]), flush=True)
    sys.stdin.read()
"""
BOTH = ("GPU-a", "GPU-b")
NEVER = 0.0


def refused(device: str, seconds: float, *named: str) -> Wait:
    """How a wait for a device that is held ends."""
    patience = Patience(waiting=lambda _: None, limit_seconds=seconds)
    with pytest.raises(DeviceBusyError) as caught, devices.held(device, patience, lambda: named):
        pass
    return caught.value.wait


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of locks of the test's own."""
    monkeypatch.setenv(lock_folder.VARIABLE, str(tmp_path / "locks"))
    return tmp_path / "locks"


@pytest.fixture
def holder() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a process that locks a device."""
    with ExitStack() as stack:

        def holder(*arguments: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", HOLDS, *arguments]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            # Killed first, then its pipes are closed.
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield holder


def says(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline().strip()


def test_cases_on_the_cpu_never_overlap(holder):
    first = holder("cpu")
    assert says(first) == "has"
    second = holder("cpu")
    assert says(second) == "waits"
    first.stdin.close()
    assert says(second) == "has"


def test_each_case_has_its_own_gpu_and_a_third_case_on_two_gpus_waits(holder):
    first, second = holder("gpu", *BOTH), holder("gpu", *BOTH)
    assert {says(first), says(second)} == {"has GPU-a", "has GPU-b"}
    third = holder("gpu", *BOTH)
    assert says(third) == "waits"
    second.stdin.close()
    assert says(third) in ("has GPU-a", "has GPU-b")


def test_cases_on_the_cpu_and_on_gpus_wait_for_each_other(holder):
    on_gpu = holder("gpu", *BOTH)
    assert says(on_gpu) == "has GPU-a"
    on_cpu = holder("cpu")
    assert says(on_cpu) == "waits"
    on_gpu.stdin.close()
    assert says(on_cpu) == "has"
    assert says(holder("gpu", *BOTH)) == "waits"


class TestUntimed:
    """``holder("1", "7", "5")`` requests one of the cores 7 and 5, preferably 7."""

    def test_runs_are_concurrent_each_on_its_own_core_and_a_third_on_two_cores_waits(self, holder):
        first, second = holder("1", "7", "5"), holder("1", "7", "5")
        assert {says(first), says(second)} == {"has 7", "has 5"}
        third = holder("1", "7", "5")
        assert says(third) == "waits"
        first.stdin.close()
        assert says(third) in ("has 7", "has 5")

    def test_with_several_threads_waits_for_as_many_cores(self, holder):
        first = holder("1", "7", "5")
        assert says(first) == "has 7"
        second = holder("2", "7", "5")
        assert says(second) == "waits"
        first.stdin.close()
        assert says(second) == "has 5 7"

    def test_with_more_threads_than_cores_has_all_cores(self, holder):
        assert says(holder("3", "7", "5")) == "has 5 7"

    def test_needs_no_cores_where_none_can_be_pinned(self, holder):
        assert [says(holder("1")) for _ in range(2)] == ["has"] * 2

    @pytest.mark.parametrize("device", [("cpu",), ("gpu", "GPU-a")])
    def test_never_runs_during_a_measurement(self, holder, device):
        measuring = holder(*device)
        assert says(measuring).startswith("has")
        other = holder("1", "7")
        assert says(other) == "waits"
        measuring.stdin.close()
        assert says(other) == "has 7"
        assert says(holder(*device)) == "waits"

    def test_lets_a_waiting_measurement_go_first(self, holder):
        first = holder("1", "7", "5")
        assert says(first) == "has 7"
        measuring = holder("cpu")
        assert says(measuring) == "waits"
        # A core is free, but a stream of such requests would keep the measurement waiting for ever.
        second = holder("1", "7", "5")
        assert says(second) == "waits"
        first.stdin.close()
        assert says(measuring) == "has"
        measuring.stdin.close()
        assert says(second) in ("has 7", "has 5")

    def test_does_not_wait_for_a_measurement_that_was_given_up(self, holder):
        first = holder("1", "7", "5")
        assert says(first) == "has 7"
        measuring = holder("cpu")
        assert says(measuring) == "waits"
        measuring.kill()
        measuring.wait()
        assert says(holder("1", "7", "5")) == "has 5"


def test_a_killed_process_releases_its_locks(holder):
    first = holder("cpu")
    assert says(first) == "has"
    first.kill()
    first.wait()
    second = holder("cpu")
    # What was left of the killed one is ended first, which may take a moment.
    assert says(second) == "has" or says(second) == "has"


def test_a_device_is_free_after_its_block_however_the_block_ends():
    with pytest.raises(KeyboardInterrupt), devices.held("cpu", IN_VAIN):
        raise KeyboardInterrupt
    with devices.held("cpu", IN_VAIN):
        pass


def test_without_a_library_there_is_one_gpu_without_a_name(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def no_gpus(names):
        raise devices.NoGpuError("no driver")

    monkeypatch.setattr(devices, "_installed", no_gpus)
    assert devices.gpus() == ("",)


GPUS = "from pytest_dlbench.running import devices\nanswer = devices.gpus()"


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles"])
def test_hidden_gpus_are_not_used(nvml, value):
    nvml.write(A100)
    assert nvml.answer(GPUS, CUDA_VISIBLE_DEVICES=value) == []


@pytest.mark.parametrize(("value", "uuids"), [("1", ["GPU-b"]), ("GPU-b,0", ["GPU-b", "GPU-a"]), ("1,-1,0", ["GPU-b"])])
def test_the_visible_gpus_are_used_in_their_order(nvml, value, uuids):
    nvml.write({**A100, "uuid": "GPU-a"}, {**A100, "uuid": "GPU-b"})
    assert nvml.answer(GPUS, CUDA_VISIBLE_DEVICES=value) == uuids


def test_numbers_choose_among_the_visible_gpus_in_their_order(nvml):
    nvml.write(*({**A100, "uuid": uuid} for uuid in ("GPU-a", "GPU-b", "GPU-c")))
    chosen = "from pytest_dlbench.running import devices\nanswer = devices.gpus(given)"
    assert nvml.answer(chosen, 1) == ["GPU-b"]
    assert nvml.answer(chosen, 0, 2) == ["GPU-a", "GPU-c"]
    assert nvml.answer(chosen, 0, CUDA_VISIBLE_DEVICES="2,0") == ["GPU-c"]


class TestKinds:
    PROBLEM = "from pytest_dlbench.running import devices\nanswer = devices.problem(given)"
    LISTED = "gpu:0 is NVIDIA A100-SXM4-40GB, 40 GiB; gpu:1 is Tesla T4, 15 GiB"

    def test_gpus_of_one_kind_may_stand_in_for_each_other(self, nvml):
        nvml.write(A100, {**A100, "uuid": "GPU-b", "total": 40 * 2**30 - 2**28})
        assert nvml.answer(self.PROBLEM) == ""

    def test_cases_do_not_run_on_several_kinds(self, nvml):
        nvml.write(A100, T4)
        message = f"the GPUs are of several kinds, which cannot be compared: {self.LISTED}."
        assert nvml.answer(self.PROBLEM) == f"{message} Choose with --dlbench-devices=gpu:0"
        assert nvml.answer(self.PROBLEM, 1) == ""
        assert nvml.answer(self.PROBLEM, CUDA_VISIBLE_DEVICES="1") == ""

    def test_a_slice_and_a_whole_gpu_are_two_kinds(self, nvml):
        nvml.write({**A100, "mig": 1}, {**SLICE, "slice_of": 0}, {**A100, "uuid": "GPU-b"})
        assert nvml.answer(self.PROBLEM).startswith("the GPUs are of several kinds")

    def test_a_number_without_a_gpu_is_refused(self, nvml):
        nvml.write(A100, T4)
        message = f"there is no gpu:2 among those that this session may use: {self.LISTED}"
        assert nvml.answer(self.PROBLEM, 2) == message

    def test_a_number_is_refused_where_gpus_cannot_be_listed(self, nvml):
        nvml.write(A100, init=9)
        reason = "NVML, the library of NVIDIA's driver: Driver Not Loaded"
        assert nvml.answer(self.PROBLEM, 0) == f"gpu:0 cannot be found: {reason}"
        assert nvml.answer(self.PROBLEM) == ""


class TestMachineClass:
    CLASS = """
from pytest_dlbench.environments import devices as files
files.GPU_FILES = (files.Path("/"),)
from pytest_dlbench.running import devices
answer = asdict(devices.machine(given))
"""

    def test_has_model_memory_and_driver(self, nvml):
        nvml.write(A100, {**A100, "uuid": "GPU-b"})
        found = nvml.answer(self.CLASS)
        assert found["gpus"] == ["NVIDIA A100-SXM4-40GB, 40 GiB"] * 2
        assert found["gpu_driver"] == "550.54.14"
        assert found["name"].endswith("-2x-nvidia-a100-sxm4-40gb-40-gib-driver-550.54.14")

    def test_has_only_the_gpus_that_the_session_may_use(self, nvml):
        nvml.write(A100, T4)
        assert nvml.answer(self.CLASS, 1)["gpus"] == ["Tesla T4, 15 GiB"]
        assert nvml.answer(self.CLASS, CUDA_VISIBLE_DEVICES="0")["gpus"] == ["NVIDIA A100-SXM4-40GB, 40 GiB"]
        assert nvml.answer(self.CLASS, CUDA_VISIBLE_DEVICES="")["gpus"] == []

    def test_of_a_slice_is_not_that_of_the_whole(self, nvml):
        nvml.write({**A100, "mig": 1}, {**SLICE, "slice_of": 0})
        assert nvml.answer(self.CLASS)["gpus"] == ["NVIDIA A100-SXM4-40GB MIG 1g.5gb, 5 GiB"]


class TestCoresNearAGpu:
    NEAR = """
import os
from pathlib import Path
from pytest_dlbench.running import devices, pinning
folder, gpu = given
pinning.near.__defaults__ = (Path(folder),)
answer = [sorted(devices.cores_near(gpu)), sorted(os.sched_getaffinity(0))]
"""

    def test_are_those_at_the_address_that_its_driver_reports(self, nvml, tmp_path):
        nvml.write(A100, {**A100, "uuid": "GPU-b", "bus": "00000000:65:00.0"})
        first = min(os.sched_getaffinity(0))
        (tmp_path / "0000:65:00.0").mkdir()
        (tmp_path / "0000:65:00.0" / "local_cpulist").write_text(f"{first}\n")
        assert nvml.answer(self.NEAR, str(tmp_path), "GPU-b")[0] == [first]

    def test_are_all_that_this_process_may_use_without_a_driver(self, nvml, tmp_path):
        nvml.write(A100, init=9)
        near, usable = nvml.answer(self.NEAR, str(tmp_path), "GPU-b")
        assert near == usable


def test_one_case_is_measured_at_a_time_on_the_cpu_and_one_per_gpu():
    assert devices.places(devices.CPU) == 1
    assert devices.places("gpu", lambda: ("one", "two")) == 2


class TestWaiting:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch):
        monkeypatch.setattr(devices, "WAIT_PERIOD_SECONDS", 0.02)

    def test_names_who_holds_the_device_and_since_when(self, holder):
        before = time.time()
        first = holder("cpu")
        assert says(first) == "has"
        (found,) = refused("cpu", NEVER).holders
        assert (found.user, found.pid) == (getpass.getuser(), first.pid)
        assert found.command.startswith("python")
        assert before - 1 < found.since < time.time() + 1

    def test_names_all_that_hold_one_of_several_gpus(self, holder):
        both = [holder("gpu", *BOTH) for _ in range(2)]
        assert {says(one) for one in both} == {"has GPU-a", "has GPU-b"}
        assert {found.pid for found in refused("gpu", NEVER, *BOTH).holders} == {one.pid for one in both}

    def test_for_untimed_runs_names_them(self, holder):
        first = holder("1", "7", "5")
        assert says(first) == "has 7"
        assert [found.pid for found in refused("cpu", NEVER).holders] == [first.pid]

    def test_is_over_after_its_limit(self, holder):
        assert says(holder("cpu")) == "has"
        assert 0.1 <= refused("cpu", 0.1).seconds < 5

    def test_that_was_given_up_releases_everything(self, holder):
        first = holder("cpu")
        assert says(first) == "has"
        refused("cpu", NEVER)
        first.stdin.close()
        first.wait()
        with devices.held("cpu", IN_VAIN):
            pass

    def test_is_reported_at_once_and_again(self, holder, monkeypatch):
        monkeypatch.setattr(devices, "REPORT_SECONDS", 0.05)
        first = holder("cpu")
        assert says(first) == "has"
        told = []

        def waiting(wait):
            told.append(wait.seconds)
            if len(told) == 3:
                first.stdin.close()

        with devices.held("cpu", Patience(waiting=waiting)):
            pass
        assert told == sorted(told)
        assert len(told) >= 3

    def test_ends_with_the_holder_and_the_limit(self, holder):
        first = holder("cpu")
        assert says(first) == "has"
        problem = DeviceBusyError(refused("cpu", NEVER)).problem
        assert (problem.device, problem.limit_seconds) == ("cpu", NEVER)
        (found,) = problem.holders
        assert (found.user, found.pid) == (getpass.getuser(), first.pid)
        assert found.command.startswith("python")
