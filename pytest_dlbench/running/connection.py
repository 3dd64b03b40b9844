"""One worker process: started, spoken to, waited for and ended for certain."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

LOG_LINES = 20
# Of the log's end: a progress bar is one line of megabytes.
LOG_BYTES = 2**14
MAX_REPLY_BYTES = 64 * 2**20
EXIT_SECONDS = 5.0


class WorkerError(Exception):
    """The worker will not answer any more."""


class WorkerDiedError(WorkerError):
    """The worker's end of the pipe closed before an answer came."""


class WorkerTimeoutError(WorkerError):
    """No answer within the time that was given; the worker has been killed."""


class BrokenProtocolError(WorkerError):
    """The worker sent something that is no answer."""


class Worker:
    """A fresh process that answers requests; a context manager, behind which no process is left."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self.log_path = folder / "worker.log"
        request_read, self._requests = os.pipe()
        self._replies, reply_write = os.pipe()
        try:
            with self.log_path.open("wb") as log:
                self._process = subprocess.Popen(
                    [*command, str(request_read), str(reply_write)],
                    env=dict(environment),
                    # An empty folder: with -m it is the first on the worker's path.
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=(request_read, reply_write),
                    # A group of its own: it is ended as a whole, and Ctrl-C is the driver's to handle.
                    start_new_session=True,
                )
        except BaseException:
            os.close(self._requests)
            os.close(self._replies)
            raise
        finally:
            # The worker's ends: left open here, its death would never reach us as end-of-file.
            os.close(request_read)
            os.close(reply_write)
        os.set_blocking(self._requests, False)

    @property
    def pid(self) -> int:
        """The worker's process id, which is also that of its group."""
        return self._process.pid

    def request(
        self, op: str, *, deadline: float, waiting: Callable[[], None], period_seconds: float, **fields: Any
    ) -> dict[str, Any]:
        """One answer. ``waiting`` is called every ``period_seconds`` until it comes; in between this process sleeps.

        ``deadline`` is on the monotonic clock. Raises a WorkerError when no answer will come.
        """
        self._write_line(op, json.dumps({"op": op, **fields}).encode() + b"\n", deadline)
        return _answer(self._read_line(op, deadline, waiting, period_seconds), op)

    def _write_line(self, op: str, line: bytes, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._requests, select.POLLOUT)
        try:
            while line:
                # A worker that reads nothing must not hold us for ever: the pipe does not block, the poll ends.
                if not poll.poll(max(1, round(1000 * (deadline - monotonic())))):
                    raise self._timed_out(op)
                line = line[os.write(self._requests, line) :]
        except BrokenPipeError:
            raise WorkerDiedError(f"the worker was gone before {op!r}") from None

    def _timed_out(self, op: str) -> WorkerTimeoutError:
        self.kill()
        return WorkerTimeoutError(f"no answer to {op!r} in time")

    def _read_line(self, op: str, deadline: float, waiting: Callable[[], None], period_seconds: float) -> bytes:
        line, next_call = bytearray(), monotonic() + period_seconds
        while not line.endswith(b"\n"):
            now = monotonic()
            if now >= deadline:
                raise self._timed_out(op)
            if now >= next_call:
                waiting()
                next_call += period_seconds * (1 + (now - next_call) // period_seconds)
            elif self._is_readable(op, min(next_call, deadline) - now):
                line += self._read_chunk(op)
                if len(line) > MAX_REPLY_BYTES:
                    raise BrokenProtocolError(f"the answer to {op!r} is longer than {MAX_REPLY_BYTES} bytes")
        return bytes(line)

    def _is_readable(self, op: str, seconds: float) -> bool:
        # Asked before the poll: what a worker wrote before its end is read first.
        is_gone = self._process.poll() is not None
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        if poll.poll(max(1, round(1000 * seconds))):
            return True
        if is_gone:
            # A child of it holds the pipe open: end-of-file would come when that ends, if ever.
            raise WorkerDiedError(f"the worker died during {op!r}")
        return False

    def _read_chunk(self, op: str) -> bytes:
        chunk = os.read(self._replies, 2**20)
        if not chunk:
            raise WorkerDiedError(f"the worker died during {op!r}")
        if rest := chunk.partition(b"\n")[2]:
            raise BrokenProtocolError(f"more than one answer to {op!r}: {rest[:80]!r}")
        return chunk

    def kill(self) -> None:
        """End the whole group at once; nothing it started lives on."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; waits for it a little. None for a worker that had to be killed."""
        try:
            return self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def log_tail(self) -> tuple[str, ...]:
        """The last lines of what the worker printed."""
        with self.log_path.open("rb") as log:
            log.seek(max(0, self.log_path.stat().st_size - LOG_BYTES))
            return tuple(log.read().decode(errors="replace").splitlines()[-LOG_LINES:])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._requests)
        try:
            if kind is None:
                self.exit_status()
        finally:
            self.kill()
            os.close(self._replies)


def _answer(line: bytes, op: str) -> dict[str, Any]:
    try:
        answer = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise BrokenProtocolError(f"the answer to {op!r} is not JSON: {line[:80]!r}") from None
    if not isinstance(answer, dict) or answer.get("status") not in ("done", "failed"):
        raise BrokenProtocolError(f"the answer to {op!r} has no status 'done' or 'failed': {line[:80]!r}")
    return answer


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
