"""Which cores are chosen for a worker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.running import pinning

SLEEPING = """
import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print(flush=True)
time.sleep(60)
"""

# The physical core of each logical one.
machines = st.dictionaries(st.integers(0, 255), st.integers(0, 63).map(str), min_size=1)


@given(machines)
def test_every_core_is_ranked_once(siblings):
    assert sorted(pinning.by_physical_core(siblings)) == sorted(siblings)


@given(machines, st.integers(1, 300))
def test_every_physical_core_is_chosen_before_any_sibling(siblings, threads):
    physical = [siblings[core] for core in pinning.by_physical_core(siblings)[:threads]]
    assert len(set(physical)) == min(threads, len(set(siblings.values())))


def test_the_highest_numbers_are_chosen_first():
    assert pinning.by_physical_core({0: "0", 1: "1", 2: "2", 3: "3"}) == (3, 2, 1, 0)


def test_two_threads_get_two_physical_cores_even_if_neighbours_are_siblings():
    assert pinning.by_physical_core({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}) == (3, 1, 2, 0)


def test_without_known_siblings_every_core_counts_as_physical(tmp_path):
    assert set(pinning.ranked(tmp_path)) == os.sched_getaffinity(0)


@pytest.mark.parametrize("threads", [1, 1000])
def test_a_worker_gets_a_core_per_thread_at_most_all(threads):
    assert len(pinning.cores(threads)) == min(threads, len(os.sched_getaffinity(0)))


def test_an_ended_process_may_use_no_cores():
    assert pinning.in_force(2**31 - 1) == ()


class TestNear:
    """The cores next to a GPU, from a file in the kernel's format."""

    BUS = "0000:07:00.0"

    @pytest.fixture
    def near(self, tmp_path, monkeypatch):
        monkeypatch.setattr(pinning, "ranked", lambda: (7, 6, 5, 4, 3, 2, 1, 0))

        def near(text, bus=self.BUS):
            (tmp_path / self.BUS).mkdir()
            (tmp_path / self.BUS / "local_cpulist").write_text(f"{text}\n")
            return pinning.near(bus, tmp_path)

        return near

    @pytest.mark.parametrize(("text", "cores"), [("4-7", {4, 5, 6, 7}), ("0-1,6", {0, 1, 6}), ("3", {3})])
    def test_they_are_those_that_the_kernel_names(self, near, text, cores):
        assert near(text) == cores

    def test_others_than_this_process_may_use_are_not_among_them(self, near):
        assert near("6-40") == {6, 7}

    @pytest.mark.parametrize("text", ["", "40-47"])
    def test_without_any_they_are_all_that_this_process_may_use(self, near, text):
        assert near(text) == set(range(8))

    def test_a_gpu_whose_address_is_not_known_has_all(self, near):
        assert near("4-7", bus="") == set(range(8))


def test_a_process_is_moved_with_all_of_its_threads():
    with subprocess.Popen([sys.executable, "-c", SLEEPING], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        pinning.move(process.pid, pinning.cores(1))
        threads = [path.name for path in Path(f"/proc/{process.pid}/task").iterdir()]
        assert len(threads) == 4
        assert {frozenset(os.sched_getaffinity(int(thread))) for thread in threads} == {pinning.cores(1)}
        process.kill()
    pinning.move(process.pid, pinning.cores(1))
