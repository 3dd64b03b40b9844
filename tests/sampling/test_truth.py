"""Figures of real processes, checked against the kernel's own accounting."""

import subprocess
import sys
from itertools import pairwise
from time import monotonic, process_time

import psutil
import pytest

from pytest_dlbench.sampling import memory
from pytest_dlbench.sampling.processes import ProcessTree
from pytest_dlbench.sampling.survivors import RUN, end_survivors

MIB = 2**20

# Burns CPU in two threads and a child that is waited for, then prints the kernel's own accounting of it.
BURNS = """
import resource, subprocess, sys, threading, time
CHILD = "import time\\nwhile time.process_time() < 0.5: sum(range(10000))"
def used():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
sys.stdin.readline()
before = used()
def burn():
    until = time.thread_time() + 1.0
    while time.thread_time() < until:
        sum(range(10000))
threads = [threading.Thread(target=burn) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
subprocess.run([sys.executable, "-S", "-c", CHILD])
print(used() - before, flush=True)
sys.stdin.readline()
"""


def started(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_cpu_seconds_match_the_processs_own_rusage_within_1_percent():
    with started(BURNS) as process:
        tree = ProcessTree(process.pid)
        tree.begin()
        process.stdin.write("go\n")
        process.stdin.flush()
        own = float(process.stdout.readline())
        usage = tree.end()
        process.communicate("end\n")
    # The kernel counts user and system time in ticks of 10 ms each.
    assert abs(usage.user_seconds + usage.system_seconds - own) <= 0.01 * own + 2 * 0.01


@pytest.mark.skipif(not memory.peak_bytes(psutil.Process().pid), reason="this kernel has no VmHWM")
class TestPeak:
    def test_memory_held_for_50_ms_between_two_samples_is_shown_within_1_percent(self, tree, do):
        do("allocate(1)")
        tree.begin()
        resident = tree.end().rss_peak_bytes
        tree.begin()
        do("kept = allocate(300); time.sleep(0.05); del kept")
        assert tree.end().rss_peak_bytes == pytest.approx(resident + 300 * MIB, rel=0.01)

    def test_the_peak_of_one_phase_is_not_that_of_the_next(self, tree, do):
        tree.begin()
        do("kept = allocate(200); del kept")
        assert tree.end().rss_peak_bytes > 200 * MIB
        tree.begin()
        do("pass")
        assert tree.end().rss_peak_bytes < 100 * MIB


class TestTimeLine:
    def test_a_sleep_of_the_worker_is_shown_when_it_happened(self, tree, do):
        tree.begin()
        for _ in range(3):
            do("burn(0.1)")
            tree.sample()
        asleep = monotonic()
        do("time.sleep(0.3)")
        tree.sample()
        awake = monotonic()
        do("burn(0.1)")
        tree.end()
        line = tree.timeline()
        moments = list(zip(line.seconds, line.cpu_seconds, strict=True))
        # Sampled around each command: the sleep is the only interval without computation, however busy the machine is.
        spans = [(one, two) for one, two in pairwise(moments) if two[1] - one[1] < 0.05]
        assert any(one[0] <= asleep - tree._origin and awake - tree._origin <= two[0] + 0.1 for one, two in spans)
        assert sum(two[1] - one[1] >= 0.05 for one, two in pairwise(moments)) == 4

    def test_foreign_load_is_shown_when_it_happened(self, tree):
        tree.begin()
        until = process_time() + 0.3
        while process_time() < until:
            pass
        tree.sample()
        tree.end()
        line = tree.timeline()
        others = [machine - ours for machine, ours in zip(line.machine_seconds, line.cpu_seconds, strict=True)]
        # The first sample is before the load, the second after it; the kernel's ticks are 10 ms.
        assert others[1] - others[0] > 0.3 - 0.05

    def test_continues_across_phases(self, tree):
        for _ in range(3):
            tree.begin()
            tree.end()
        line = tree.timeline()
        assert len(line.seconds) == 6
        assert list(line.seconds) == sorted(line.seconds)


class TestCounters:
    def test_faults_count_every_page_that_is_touched(self, tree, do):
        tree.begin()
        do("spike(64)")
        assert tree.end().minor_faults >= 64 * MIB // 2**16

    def test_waiting_counts_the_time_that_another_process_takes_on_the_same_core(self, tree, do, scripted):
        core = min(psutil.Process().cpu_affinity())
        psutil.Process(scripted.pid).cpu_affinity([core])
        tree.begin()
        do("other = child(); import threading")
        do("threading.Thread(target=send, args=(other, 'burn(0.4)')).start(); burn(0.4)")
        usage = tree.end()
        # Two processes share one core: each waits about as long as the other runs.
        assert usage.waited_seconds > 0.2
        assert usage.involuntary_switches > 0

    def test_core_use_shows_the_busy_core(self, tree, do, scripted):
        core = max(psutil.Process().cpu_affinity())
        psutil.Process(scripted.pid).cpu_affinity([core])
        tree.begin()
        do("burn(0.3)")
        usage = tree.end()
        assert len(usage.core_use) == psutil.cpu_count()
        assert all(0 <= share <= 1 for share in usage.core_use)
        # Other processes may run on it too; the kernel counts in ticks of 10 ms.
        ours = usage.user_seconds + usage.system_seconds
        assert usage.core_use[core] * usage.wall_seconds > ours - 0.05


class TestSurvivors:
    def test_survivors_outside_the_workers_group_and_tree_are_killed(self):
        program = "import os, sys, time\nif os.fork(): os._exit(0)\nos.setsid()\nprint(os.getpid(), flush=True)\n"
        command = [sys.executable, "-S", "-c", f"{program}time.sleep(600)"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={RUN: "this-run"}) as process:
            survivor = psutil.Process(int(process.stdout.readline()))
            process.wait()
            assert end_survivors("another-run") == ()
            assert survivor.is_running()
            assert len(end_survivors("this-run")) == 1
        assert not survivor.is_running() or survivor.status() == psutil.STATUS_ZOMBIE

    def test_there_are_none_if_nothing_survived(self):
        assert end_survivors("a-run-that-never-was") == ()
