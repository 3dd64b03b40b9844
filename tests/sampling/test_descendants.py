"""The descendants of a process, found by the kernel's lists and by reading all of /proc."""

from pathlib import Path

import psutil
import pytest

from pytest_dlbench.sampling.descendants import PROC, descendants


# The kernel's own lists, and a kernel without them.
@pytest.fixture(params=[PROC, Path("/a/kernel/without")], ids=["lists", "no lists"])
def found(request, scripted, do):
    """The ids of the scripted process's descendants, found in either way."""
    root = psutil.Process(scripted.pid)
    return lambda: sorted(process.pid for process in descendants(root, request.param))


def test_children_and_grandchildren_are_descendants(found, do, scripted):
    do("one = child(); other = child()")
    do("send(other, 'grandchild = child()')")
    assert len(found()) == 3
    assert found() == sorted(process.pid for process in psutil.Process(scripted.pid).children(recursive=True))


def test_children_started_by_another_thread_are_found(found, do):
    do("import threading; started = []")
    do("thread = threading.Thread(target=lambda: (started.append(child()), time.sleep(600)), daemon=True)")
    do("thread.start()")
    do("while not started: time.sleep(0.01)")
    assert len(found()) == 1


def test_a_process_without_children_has_no_descendants(found):
    assert found() == []


def test_a_process_that_has_ended_has_no_descendants(found, scripted):
    scripted.kill()
    scripted.wait()
    assert found() == []
