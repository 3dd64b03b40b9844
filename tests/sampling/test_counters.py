"""What the machine did during a phase, from files as the kernel has them."""

import os

import psutil
import pytest

from pytest_dlbench.sampling import memory
from pytest_dlbench.sampling.counters import read_machine, read_tree
from pytest_dlbench.sampling.processes import ProcessTree, _machine
from pytest_dlbench.sampling.unavailable import untold

TICK = 1 / os.sysconf("SC_CLK_TCK")
# Ticks of user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice.
NOTHING = (0,) * 10
SECONDS = 10.0
OURS = {"user_seconds": 4.0, "system_seconds": 1.0}


@pytest.fixture
def used(tmp_path, monkeypatch):
    """What a phase of ten seconds used of two cores that did this meanwhile, each a share of a second per second."""
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


def test_waiting_for_a_disk_is_told_apart_from_idling_and_from_work(used):
    found = used((0.2, 0, 0, 0.5, 0.3, 0, 0, 0, 0, 0), (0.3, 0, 0, 0.6, 0.1, 0, 0, 0, 0, 0))
    assert found["iowait_cpus"] == pytest.approx(0.4)
    assert found["foreign_cpus"] == pytest.approx(0.5 - 0.5)
    assert found["core_use"] == pytest.approx((0.2, 0.3))


def test_what_a_hypervisor_took_is_told_and_is_not_ours(used):
    found = used((0.6, 0, 0.1, 0, 0, 0, 0, 0.3, 0, 0), (0, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    assert found["steal_cpus"] == pytest.approx(0.3)
    assert found["foreign_cpus"] == pytest.approx(1.0 - 0.5)


def test_work_of_every_kind_counts_as_use_of_its_core(used):
    found = used((0.1, 0.1, 0.1, 0.6, 0, 0.05, 0.05, 0, 0, 0), (1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    assert found["core_use"] == pytest.approx((0.4, 1.0))
    assert found["foreign_cpus"] == pytest.approx(1.4 - 0.5)


def test_what_came_back_from_swap_is_counted_in_bytes(used):
    assert used(pages=3)["swapped_in_bytes"] == 3 * os.sysconf("SC_PAGE_SIZE")


def test_slowing_by_heat_is_counted_over_all_cores(used):
    assert used(slowed=4)["throttlings"] == 8


def test_a_machine_that_counts_no_slowing_tells_none(tmp_path):
    assert read_machine(processors=tmp_path).throttlings is None


def test_a_kernel_that_counts_no_waiting_tells_none(tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "stat").write_text("")
    assert read_tree((), tmp_path).waited_seconds is None


def test_every_figure_of_memory_and_of_the_machine_that_is_none_has_its_reason(do, obedient):
    reasons = untold(obedient.pid)
    tree = ProcessTree(obedient.pid)
    tree.begin()
    do("pass")
    usage = tree.end()
    told = {
        "proportional memory": usage.pss_peak_bytes,
        "peak memory of the control group": usage.group_peak_bytes,
        "waiting for a processor": usage.waited_seconds,
        "slowing by heat": usage.throttlings,
    }
    assert {name for name, value in told.items() if value is None} == set(reasons) - {"peak memory of a phase"}


def test_of_a_process_that_is_gone_no_kernel_is_blamed(obedient):
    obedient.kill()
    os.waitid(os.P_PID, obedient.pid, os.WEXITED | os.WNOWAIT)
    assert untold(obedient.pid) == {}
    obedient.wait()
    assert untold(obedient.pid) == {}


def test_where_the_kernel_has_no_such_files_each_figure_has_its_reason(obedient, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "PROC", tmp_path)
    assert {"proportional memory", "peak memory of a phase"} <= set(untold(obedient.pid))
