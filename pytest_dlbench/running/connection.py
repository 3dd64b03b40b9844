"""One worker process: started, spoken to, waited for and ended for certain."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

LOG_LINES = 20
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
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        chunks, size, next_call = [], 0, monotonic() + period_seconds
        while True:
            now = monotonic()
            if now >= deadline:
                raise self._timed_out(op)
            if now >= next_call:
                waiting()
                next_call += period_seconds * (1 + (now - next_call) // period_seconds)
                continue
            if not poll.poll(max(1, round(1000 * (min(next_call, deadline) - now)))):
                continue
            chunk = os.read(self._replies, 2**20)
            size += len(chunk)
            if not chunk:
                raise WorkerDiedError(f"the worker died during {op!r}")
            if size > MAX_REPLY_BYTES:
                raise BrokenProtocolError(f"the answer to {op!r} is longer than {MAX_REPLY_BYTES} bytes")
            line, end, rest = chunk.partition(b"\n")
            chunks.append(line)
            if end:
                if rest:
                    raise BrokenProtocolError(f"more than one answer to {op!r}: {rest[:80]!r}")
                return b"".join(chunks)

    def kill(self) -> None:
        """End the whole group at once; nothing it started lives on."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()

    def exit_status(self) -> int:
        """The exit status of a worker that is gone, negative for a signal; waits a little, then kills."""
        try:
            return self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.returncode

    def log_tail(self) -> tuple[str, ...]:
        """The last lines of what the worker printed."""
        return tuple(self.log_path.read_text(errors="replace").splitlines()[-LOG_LINES:])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._requests)
        if kind is None:
            self.exit_status()
        self.kill()
        os.close(self._replies)


def _answer(line: bytes, op: str) -> dict[str, Any]:
    try:
        answer = json.loads(line, parse_constant=_refuse)
    except ValueError:
        raise BrokenProtocolError(f"the answer to {op!r} is not JSON: {line[:80]!r}") from None
    if not isinstance(answer, dict) or answer.get("status") not in ("done", "failed"):
        raise BrokenProtocolError(f"the answer to {op!r} has no status 'done' or 'failed': {line[:80]!r}")
    return answer


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
