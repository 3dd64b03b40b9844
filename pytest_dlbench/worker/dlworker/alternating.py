"""Single steps, between which the other worker of a pair takes its own."""

import os
from time import CLOCK_THREAD_CPUTIME_ID, clock_gettime, monotonic, process_time

from dlworker.training import timed_steps

# One step in this many is examined for waits for a processor.
QUEUES_EVERY = 8


class Turns(object):
    """Takes steps one by one, and knows since when this worker has waited for the next one."""

    def __init__(self):
        self._waiting_since = None

    def take(self, stepper, number):
        """Take a step and return what it used.

        ``cpu_seconds`` is the processor time of this process in the step. ``idle_cpu_seconds`` is what its other
        threads used in the ``idle_seconds`` since the step before: this thread slept until the request, they may spin.
        ``queued_seconds`` is how long its threads were ready to run in the step, but others had the processors; None
        where the kernel does not say, and in most steps, because reading it takes some tens of microseconds.
        """
        queued = _queued() if number % QUEUES_EVERY == 0 else None
        began, others = monotonic(), _other_threads()
        since, others_before = self._waiting_since or (began, others)
        used = process_time()
        seconds, losses = timed_steps(stepper, 1, number)
        used = process_time() - used
        self._waiting_since = monotonic(), _other_threads()
        queued_after = None if queued is None else _queued()
        return {
            "queued_seconds": None if queued_after is None else queued_after - queued,
            "began": began,
            "seconds": seconds[0],
            "loss": losses[0],
            "cpu_seconds": used,
            "idle_seconds": began - since,
            "idle_cpu_seconds": others - others_before,
        }


def _queued():
    """How long all threads of this process have waited for a processor so far; None where the kernel does not say."""
    total, folder = 0, "/proc/self/task"
    try:
        for task in os.listdir(folder):
            with open(os.path.join(folder, task, "schedstat"), encoding="ascii") as file:
                total += int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return total / 1e9


def _other_threads():
    """Processor time of all threads of this process except the calling one."""
    return process_time() - clock_gettime(CLOCK_THREAD_CPUTIME_ID)
