"""The peak memory of a control group, from files in the kernel's format."""

import pytest

from pytest_dlbench.sampling.memory import group_peak_bytes

PID = 7


@pytest.fixture
def machine(tmp_path):
    """The peak that is read when the process is in these groups and the mount has this file."""

    def machine(membership, file="memory.peak", peak="123456789\n"):
        (tmp_path / "proc" / str(PID)).mkdir(parents=True)
        (tmp_path / "proc" / str(PID) / "cgroup").write_text(membership)
        (tmp_path / "groups" / file).parent.mkdir(parents=True)
        (tmp_path / "groups" / file).write_text(peak)
        return group_peak_bytes(PID, tmp_path / "proc", tmp_path / "groups")

    return machine


def test_the_peak_is_that_of_the_processs_own_group(machine):
    assert machine("0::/user.slice/bench.scope\n", "user.slice/bench.scope/memory.peak") == 123456789


def test_the_peak_is_found_in_a_container_that_sees_only_its_own_group(machine):
    assert machine("0::/docker/4f1c\n") == 123456789


@pytest.mark.parametrize("membership", ["4:memory:/docker/4f1c\n", ""])
def test_cgroup_v1_and_no_group_have_no_peak(machine, membership):
    assert machine(membership) is None


def test_a_kernel_without_memory_peak_has_no_peak(machine):
    assert machine("0::/\n", "memory.current") is None


def test_a_process_that_has_ended_has_no_peak(tmp_path):
    assert group_peak_bytes(PID, tmp_path, tmp_path) is None
