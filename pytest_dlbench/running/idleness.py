"""Finds a worker that hangs long before the run's timeout: its processes use next to no processor time."""

from time import monotonic

# A worker that computes, compiles or reads a file uses as much in far less time; one that waits for a lock does not.
IDLE_SECONDS, LEAST_CPU_SECONDS = 600.0, 0.1
# After a longer break between two calls the machine or this process was suspended, and the worker perhaps as well.
LONGEST_BREAK_SECONDS = 30.0


class Idleness:
    """How long the processes of a worker have been idle while they should answer a request."""

    def __init__(self, used_seconds: float) -> None:
        self._since = self._asked = monotonic()
        self._used_seconds = used_seconds

    def lasts(self, used_seconds: float) -> bool:
        """Whether it has lasted for IDLE_SECONDS; ``used_seconds`` is their processor time so far.

        That decreases if a process ends which nobody waited for: this is a sign of life, too.
        """
        before, now = self._asked, monotonic()
        self._asked = now
        if now - before > LONGEST_BREAK_SECONDS or not 0 <= used_seconds - self._used_seconds < LEAST_CPU_SECONDS:
            self._since, self._used_seconds = now, used_seconds
        return now - self._since >= IDLE_SECONDS
