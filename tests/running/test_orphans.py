"""Drivers that are killed: nothing that they started lives on, and the device is free only then."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil
import pytest

from pytest_dlbench.running import devices
from pytest_dlbench.running.waits import Patience
from pytest_dlbench.sampling.survivors import DRIVER, driver_id, end_orphans, end_workers_of
from tests.running.processes import is_running, wait_for

SLEEPS = [sys.executable, "-S", "-c", "print(flush=True); import time; time.sleep(600)"]
# A worker in a step that never ends, with a child in a session of its own.
HANGING = ("leaves_a_child_and_hangs", "holds_the_gil")


def marked(driver: psutil.Process) -> list[psutil.Process]:
    """What a driver's workers started, and they themselves."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if f":{driver.pid}:" in process.environ().get(DRIVER, ""):
                found.append(process)
    return found


@pytest.fixture
def hanging(start, tmp_path) -> Iterator[Callable[[str], tuple[psutil.Process, psutil.Process, list[psutil.Process]]]]:
    """A driver, its guard, and its worker and the worker's child, which hang."""
    everybody: list[psutil.Process] = []

    def hanging(builder: str) -> tuple[psutil.Process, psutil.Process, list[psutil.Process]]:
        driver = psutil.Process(start(builder, 1, 8).pid)
        wait_for((tmp_path / "data" / "caches" / "hangs").exists)
        found = marked(driver)
        assert len(found) == 2
        (guard,) = [child for child in driver.children() if child not in found]
        everybody.extend([*found, guard])
        return driver, guard, found

    yield hanging
    for process in everybody:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def one_of(found: list[psutil.Process]) -> int:
    """The oldest: the worker, whose child came later."""
    return min(found, key=lambda one: one.create_time()).pid


@pytest.mark.parametrize("builder", HANGING)
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_killed_driver_leaves_neither_worker_nor_its_children_nor_files(hanging, builder, is_stopped, tmp_path):
    driver, guard, found = hanging(builder)
    if is_stopped:
        for process in found:
            process.suspend()
    driver.kill()
    wait_for(lambda: not any(map(is_running, [*found, guard])))
    assert list(tmp_path.glob("dlbench-run-*")) == []


@pytest.mark.parametrize("builder", HANGING)
def test_the_kernel_ends_a_worker_even_without_the_guard(hanging, builder):
    driver, guard, found = hanging(builder)
    (worker,) = [process for process in found if process.pid == one_of(found)]
    worker.suspend()
    guard.kill()
    driver.kill()
    wait_for(lambda: not is_running(worker))


def test_what_even_the_guard_could_not_end_is_ended_by_the_next_session(hanging):
    driver, guard, found = hanging("leaves_a_child_and_hangs")
    guard.kill()
    driver.kill()
    (child,) = [process for process in found if process.pid != one_of(found)]
    wait_for(lambda: not is_running(driver))
    assert child.pid in end_orphans()
    assert not is_running(child)


def test_the_device_is_not_free_before_the_workers_have_ended(hanging, tmp_path, monkeypatch):
    monkeypatch.setenv("DLBENCH_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr(devices, "WAIT_PERIOD_SECONDS", 0.001)
    driver, guard, found = hanging("leaves_a_child_and_hangs")
    # As long as the guard cannot act, nobody may measure.
    guard.suspend()
    driver.kill()
    wait_for(lambda: not is_running(driver))

    def waiting(wait):
        guard.resume()

    with devices.held("cpu", Patience(waiting=waiting)):
        assert not any(map(is_running, found))


def test_an_interrupted_driver_leaves_no_guard(hanging):
    driver, guard, found = hanging("leaves_a_child_and_hangs")
    driver.send_signal(signal.SIGINT)
    wait_for(lambda: not any(map(is_running, [driver, *found, guard])))


@pytest.fixture
def sleeper() -> Iterator[Callable[[str], psutil.Process]]:
    """A process with a value of DLBENCH_DRIVER."""
    started = []

    def sleeper(driver: str) -> psutil.Process:
        process = subprocess.Popen(SLEEPS, env={DRIVER: driver}, stdout=subprocess.PIPE)
        started.append(process)
        # It has its own environment once it says something.
        process.stdout.readline()
        return psutil.Process(process.pid)

    yield sleeper
    for process in started:
        process.kill()
        process.communicate()


class TestEndOrphans:
    def test_leaves_the_workers_of_a_live_driver_alone(self, sleeper):
        mine = sleeper(driver_id())
        assert mine.pid not in end_orphans()
        assert is_running(mine)

    def test_ends_workers_whose_drivers_process_id_is_that_of_another_process_now(self, sleeper):
        namespace, pid, started = driver_id().split(":")
        other = sleeper(f"{namespace}:{pid}:{int(started) - 1}")
        assert end_orphans()[other.pid].startswith("python")
        wait_for(lambda: not is_running(other))

    @pytest.mark.parametrize("value", ["1:2:3", "", "nonsense", ":::", "unknown:1:"])
    def test_leaves_workers_of_other_containers_and_what_it_cannot_read_alone(self, sleeper, value):
        other = sleeper(value)
        assert other.pid not in end_orphans()
        assert is_running(other)

    def test_of_one_driver_ends_no_other(self, sleeper):
        mine, other = sleeper(driver_id()), sleeper("1:2:3")
        assert list(end_workers_of(driver_id())) == [mine.pid]
        assert is_running(other)
