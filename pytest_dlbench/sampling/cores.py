"""The processor cores that this process may use."""

import os


def usable_cores() -> int:
    """The number of cores that this process may run on, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
