"""Other processes that compute, next to what is measured."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

# Until the process that started it has ended, however that ended.
COMPUTE = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**6))"


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """A process that computes on each of the first ``count`` cores."""
    started = []
    try:
        for core in range(count):
            process = subprocess.Popen([sys.executable, "-c", COMPUTE])
            started.append(process)
            psutil.Process(process.pid).cpu_affinity([core])
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
