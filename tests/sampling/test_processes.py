"""What is read of a process from outside, checked on scripted processes."""

import os
import subprocess
import sys
from pathlib import Path
from time import monotonic, process_time

import numpy as np
import psutil
import pytest

from pytest_dlbench.records import Usage
from pytest_dlbench.sampling import memory, processes

MIB = 2**20


def cpu_seconds(usage: Usage) -> float:
    """User and system time together: the kernel only estimates the split, from its ticks."""
    return usage.user_seconds + usage.system_seconds


class TestMemory:
    def test_kept_memory_is_in_the_samples_and_in_the_peak(self, tree, do):
        tree.begin()
        do("kept = allocate(200)")
        tree.sample()
        usage = tree.end()
        assert 200 * MIB < usage.rss_peak_bytes < 300 * MIB
        # One sample before, two after.
        assert usage.samples == 3
        assert usage.rss_mean_bytes > 2 / 3 * 200 * MIB

    @pytest.mark.skipif(not memory.peak_bytes(psutil.Process().pid), reason="this kernel has no VmHWM")
    def test_a_spike_between_two_samples_is_in_the_peak(self, tree, do):
        tree.begin()
        do("spike(200)")
        usage = tree.end()
        assert usage.rss_peak_bytes > 200 * MIB
        assert usage.rss_mean_bytes < 100 * MIB

    def test_pages_of_a_mapped_file_are_counted_apart(self, tree, do, tmp_path):
        file = tmp_path / "library"
        file.write_bytes(bytes(100 * MIB))
        tree.begin()
        before = tree.end()
        do(f"import mmap; file = open({str(file)!r}, 'r+b'); kept = mmap.mmap(file.fileno(), 0); sum(kept[::4096])")
        tree.begin()
        after = tree.end()
        assert after.file_peak_bytes - before.file_peak_bytes == pytest.approx(100 * MIB, rel=0.02)
        assert after.rss_peak_bytes - after.file_peak_bytes < before.rss_peak_bytes + 20 * MIB

    def test_memory_of_a_child_counts(self, tree, do):
        do("other = child()")
        do("send(other, 'kept = allocate(200)')")
        tree.begin()
        assert tree.end().rss_mean_bytes > 200 * MIB

    def test_memory_of_a_child_started_during_the_phase_counts_at_its_end(self, tree, do):
        tree.begin()
        do("other = child()")
        do("send(other, 'kept = allocate(200)')")
        assert tree.end().rss_peak_bytes > 200 * MIB

    def test_memory_of_a_child_that_has_ended_does_not_count(self, tree, do):
        do("other = child()")
        do("send(other, 'kept = allocate(200)')")
        tree.begin()
        do("other.kill(); other.wait()")
        tree.sample()
        assert tree.end().rss_mean_bytes < 200 * MIB

    def test_memory_of_the_driver_does_not_count(self, tree):
        kept = bytearray(200 * MIB)
        tree.begin()
        assert tree.end().rss_peak_bytes < len(kept)


class TestSeconds:
    def test_time_of_a_busy_process_counts(self, tree, do):
        tree.begin()
        do("burn(0.4)")
        usage = tree.end()
        # The kernel's clock ticks a hundred times a second.
        assert 0.35 < cpu_seconds(usage) < 0.9
        assert usage.wall_seconds > 0.4

    def test_time_in_the_kernel_counts(self, tree, do):
        tree.begin()
        do("for _ in range(30): spike(16)")
        assert tree.end().system_seconds > 0

    def test_time_of_a_live_child_counts(self, tree, do):
        tree.begin()
        do("other = child()")
        do("send(other, 'burn(0.3)')")
        assert 0.25 < cpu_seconds(tree.end()) < 0.8

    def test_time_of_a_child_that_was_waited_for_counts(self, tree, do):
        tree.begin()
        do("other = child()")
        do("send(other, 'burn(0.3)')")
        do("other.kill(); other.wait()")
        assert 0.25 < cpu_seconds(tree.end()) < 0.8

    def test_time_of_a_grandchild_counts(self, tree, do):
        tree.begin()
        do("other = child()")
        do("""send(other, "grandchild = child(); send(grandchild, 'burn(0.3)')")""")
        assert 0.25 < cpu_seconds(tree.end()) < 0.8

    def test_time_before_the_phase_does_not_count(self, tree, do):
        do("burn(0.3)")
        tree.begin()
        usage = tree.end()
        assert cpu_seconds(usage) < 0.1


class TestPhases:
    def test_phases_are_separate(self, tree, do):
        tree.begin()
        do("kept = allocate(200); burn(0.3)")
        busy = tree.end()
        do("del kept")
        tree.begin()
        tree.sample()
        idle = tree.end()
        assert cpu_seconds(busy) > 0.25 > cpu_seconds(idle)
        assert (busy.samples, idle.samples) == (2, 3)
        assert idle.rss_mean_bytes < 100 * MIB < busy.rss_mean_bytes

    def test_a_child_of_a_short_phase_counts(self, tree, do):
        tree.begin()
        do("other = child()")
        do("send(other, 'kept = allocate(200)')")
        tree.sample()
        do("other.kill(); other.wait()")
        assert tree.end().rss_peak_bytes > 200 * MIB

    def test_children_are_searched_once_a_period_and_more_often_at_first(self, scripted, monkeypatch):
        tree = processes.ProcessTree(scripted.pid)
        now, searches = monotonic(), []
        find = tree._find_children
        monkeypatch.setattr(processes, "monotonic", lambda: now)
        monkeypatch.setattr(tree, "_find_children", lambda: searches.append(now) or find())
        tree.begin()
        searches.clear()
        began = now
        for _ in range(100):
            now += processes.CHILDREN_PERIOD_SECONDS / 5
            tree.sample()
        after = np.diff([began, *searches])
        assert after[:5] == pytest.approx(0.2)
        assert after[-5:] == pytest.approx(1.0)
        assert all(np.diff(after) > -0.01)

    def test_reading_proportional_memory_takes_at_most_a_thousandth_of_the_time(self, scripted, monkeypatch):
        tree = processes.ProcessTree(scripted.pid)
        now = [monotonic()]

        def read(pid):
            now[0] += 0.01
            return 1

        monkeypatch.setattr(processes, "monotonic", lambda: now[0])
        monkeypatch.setattr(memory, "pss_bytes", read)
        tree.begin()
        began = now[0]
        while now[0] < began + 100:
            tree.sample()
            now[0] += 0.2
        assert len(tree._pss_bytes) == pytest.approx(11, abs=1.2)


class TestEndedProcess:
    def test_a_process_that_ended_before_the_phase_counts_as_0(self, tree, scripted):
        scripted.kill()
        scripted.wait()
        tree.begin()
        tree.sample()
        usage = tree.end()
        assert (usage.samples, usage.rss_mean_bytes, usage.rss_peak_bytes) == (0, 0, 0)
        assert (usage.user_seconds, usage.system_seconds) == (0, 0)

    def test_a_process_that_ends_during_the_phase_keeps_its_samples(self, tree, do, scripted):
        do("kept = allocate(200)")
        tree.begin()
        scripted.kill()
        scripted.wait()
        usage = tree.end()
        assert usage.samples == 1
        assert usage.rss_peak_bytes == usage.rss_mean_bytes > 200 * MIB
        assert (usage.user_seconds, usage.system_seconds) == (0, 0)

    def test_a_zombie_has_its_seconds_but_no_memory(self, tree, do, scripted):
        tree.begin()
        do("burn(0.3)")
        scripted.kill()
        os.waitid(os.P_PID, scripted.pid, os.WEXITED | os.WNOWAIT)
        usage = tree.end()
        assert 0.25 < cpu_seconds(usage) < 0.8
        assert usage.samples == 1


def test_the_peak_of_a_process_that_does_not_exist_is_0():
    assert memory.peak_bytes(2**31 - 1) == 0


def test_the_peak_is_that_of_the_program_not_of_its_parent():
    kept = bytearray(b"x") * (200 * MIB)
    command = [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        found = memory.peak_bytes(process.pid)
        process.communicate()
    assert found < len(kept)
    assert Path("/proc/self/status").exists() == bool(found)


class TestForeignLoad:
    def test_is_what_other_processes_use_meanwhile(self, tree):
        tree.begin()
        # This process is not in the tree.
        end = process_time() + 0.5
        while process_time() < end:
            pass
        usage = tree.end()
        # The kernel counts a processor's time in steps of 10 ms.
        assert usage.foreign_cpus * usage.wall_seconds >= 0.4

    def test_is_not_what_the_tree_uses(self, tree, do):
        tree.begin()
        do("burn(0.5)")
        usage = tree.end()
        room = usage.wall_seconds * psutil.cpu_count() - cpu_seconds(usage)
        assert cpu_seconds(usage) >= 0.4
        assert usage.foreign_cpus * usage.wall_seconds <= room + 0.1
