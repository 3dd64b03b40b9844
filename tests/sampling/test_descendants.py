"""Who is below a process, by the kernel's lists and by all of /proc."""

from pathlib import Path

import psutil
import pytest

from pytest_dlbench.sampling.descendants import PROC, descendants


# A kernel's own lists, and one that keeps none.
@pytest.fixture(params=[PROC, Path("/a/kernel/without")], ids=["lists", "no lists"])
def found(request, obedient, do):
    """The process ids that are found below the obedient process, in one way and in the other."""
    root = psutil.Process(obedient.pid)
    return lambda: sorted(process.pid for process in descendants(root, request.param))


def test_are_children_and_theirs(found, do, obedient):
    do("one = child(); other = child()")
    do("tell(other, 'grandchild = child()')")
    assert len(found()) == 3
    assert found() == sorted(process.pid for process in psutil.Process(obedient.pid).children(recursive=True))


def test_are_those_too_that_another_thread_started(found, do):
    do("import threading; started = []")
    do("thread = threading.Thread(target=lambda: (started.append(child()), time.sleep(600)), daemon=True)")
    do("thread.start()")
    do("while not started: time.sleep(0.01)")
    assert len(found()) == 1


def test_are_none_of_a_process_without_children(found):
    assert found() == []


def test_are_none_of_a_process_that_is_gone(found, obedient):
    obedient.kill()
    obedient.wait()
    assert found() == []
