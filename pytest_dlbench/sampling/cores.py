"""The processor cores that may be used."""

import os


def usable_cores() -> int:
    """The cores this process may run on, not those of the whole machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
