"""The process that makes the runs of a lease, with pipes to it: Ray's actor starts it itself, srun on another host."""

import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

LOG_BYTES = 2**12


class Piped:
    """A process in a session of its own, and lines to and from it. ``send`` never waits for the process."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        # It has no name, and is gone with this process.
        self._log = os.memfd_create("log")
        self._lines: deque[bytes] = deque()
        self._news = threading.Condition()
        self._ended = ""
        self._sent: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=variables,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        for thread in (self._reader, threading.Thread(target=self._write, daemon=True)):
            thread.start()

    def send(self, line: bytes) -> None:
        """Pass a line on."""
        self._sent.put(line)

    def poll(self, seconds: float) -> tuple[list[bytes], str]:
        """The lines that have come since the last call, and how the process ended, if it has: within that time."""
        with self._news:
            self._news.wait_for(lambda: self._lines or self._ended, seconds)
            found = list(self._lines)
            self._lines.clear()
            return found, self._ended

    @property
    def printed(self) -> str:
        """The last that it wrote to its standard error."""
        end = max(0, os.fstat(self._log).st_size - LOG_BYTES)
        return os.pread(self._log, LOG_BYTES, end).decode(errors="replace").strip()

    def end(self) -> None:
        """Let the process end by SIGTERM, which it must do by itself; returns once it has."""
        self._process.send_signal(signal.SIGTERM)
        self._reader.join()
        self._sent.put(b"")
        os.close(self._log)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as replies:
            for line in replies:
                # A process that is killed may have written a part of a line.
                if line.endswith(b"\n"):
                    with self._news:
                        self._lines.append(line)
                        self._news.notify()
        status = self._process.wait()
        ended = f"its process ended (exit status {status}): {self.printed or 'it printed nothing'}"
        with self._news:
            self._ended = ended
            self._news.notify()

    def _write(self) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as requests:
            while line := self._sent.get():
                requests.write(line)
                requests.flush()
