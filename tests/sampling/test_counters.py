"""What the machine did during a phase, from files in the kernel's format."""

import os

import psutil
import pytest

from pytest_dlbench.sampling import memory
from pytest_dlbench.sampling.counters import read_machine, read_tree
from pytest_dlbench.sampling.processes import ProcessTree, _machine
from pytest_dlbench.sampling.unavailable import unavailable

TICK = 1 / os.sysconf("SC_CLK_TCK")
# Ticks of user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice.
NOTHING = (0,) * 10
SECONDS = 10.0
OURS = {"user_seconds": 4.0, "system_seconds": 1.0}


@pytest.fixture
def used(tmp_path, monkeypatch):
    """The usage of a ten-second phase from the two cores' times, each given as a share of a second per second."""
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))

    def read(cores, pages, slowed):
        lines = [f"cpu{core} {' '.join(map(str, ticks))}" for core, ticks in enumerate(cores)]
        total = " ".join(str(sum(column)) for column in zip(*cores, strict=True))
        (tmp_path / "stat").write_text("\n".join([f"cpu  {total}", *lines, "ctxt 1"]) + "\n")
        (tmp_path / "vmstat").write_text(f"pgpgin 5\npswpin {pages}\npswpout 7\n")
        for core in range(len(cores)):
            folder = tmp_path / f"cpu{core}" / "thermal_throttle"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "core_throttle_count").write_text(f"{slowed}\n")
        return read_machine(tmp_path, tmp_path)

    def used(first=NOTHING, second=NOTHING, pages=0, slowed=0):
        before = read([NOTHING, NOTHING], 100, 30)
        after = read(
            [[round(SECONDS * share / TICK) for share in core] for core in (first, second)], 100 + pages, 30 + slowed
        )
        return _machine(before, after, SECONDS, OURS)

    return used


def test_waiting_for_a_disk_is_neither_idle_time_nor_work(used):
    found = used((0.2, 0, 0, 0.5, 0.3, 0, 0, 0, 0, 0), (0.3, 0, 0, 0.6, 0.1, 0, 0, 0, 0, 0))
    assert found["iowait_cpus"] == pytest.approx(0.4)
    assert found["foreign_cpus"] == pytest.approx(0.5 - 0.5)
    assert found["core_use"] == pytest.approx((0.2, 0.3))


def test_stolen_time_is_reported_and_counts_as_foreign(used):
    found = used((0.6, 0, 0.1, 0, 0, 0, 0, 0.3, 0, 0), (0, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    assert found["steal_cpus"] == pytest.approx(0.3)
    assert found["foreign_cpus"] == pytest.approx(1.0 - 0.5)


def test_work_of_every_kind_counts_as_use_of_its_core(used):
    found = used((0.1, 0.1, 0.1, 0.6, 0, 0.05, 0.05, 0, 0, 0), (1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    assert found["core_use"] == pytest.approx((0.4, 1.0))
    assert found["foreign_cpus"] == pytest.approx(1.4 - 0.5)


def test_swapped_in_memory_is_counted_in_bytes(used):
    assert used(pages=3)["swapped_in_bytes"] == 3 * os.sysconf("SC_PAGE_SIZE")


def test_thermal_throttling_is_summed_over_all_cores(used):
    assert used(slowed=4)["throttlings"] == 8


def test_throttling_is_none_on_a_machine_that_does_not_count_it(tmp_path):
    assert read_machine(processors=tmp_path).throttlings is None


def test_waiting_is_none_on_a_kernel_that_does_not_count_it(tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "stat").write_text("")
    assert read_tree((), tmp_path).waited_seconds is None


def test_every_missing_figure_of_memory_and_of_the_machine_has_a_reason(do, scripted):
    reasons = unavailable(scripted.pid)
    tree = ProcessTree(scripted.pid)
    tree.begin()
    do("pass")
    usage = tree.end()
    figures = {
        "proportional memory": usage.pss_peak_bytes,
        "peak memory of the control group": usage.group_peak_bytes,
        "waiting for a processor": usage.waited_seconds,
        "slowing by heat": usage.throttlings,
    }
    assert {name for name, value in figures.items() if value is None} == set(reasons) - {"peak memory of a phase"}


def test_a_process_that_has_ended_is_not_blamed_on_the_kernel(scripted):
    scripted.kill()
    os.waitid(os.P_PID, scripted.pid, os.WEXITED | os.WNOWAIT)
    assert unavailable(scripted.pid) == {}
    scripted.wait()
    assert unavailable(scripted.pid) == {}


def test_each_figure_has_a_reason_where_the_kernel_lacks_its_file(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "PROC", tmp_path)
    assert {"proportional memory", "peak memory of a phase"} <= set(unavailable(scripted.pid))
