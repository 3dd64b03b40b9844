"""One worker process: start it, exchange messages with it, and make sure that it ends."""

import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

import msgspec

from pytest_dlbench.records.problems import BadAnswer

LOG_LINES = 20
# How much of the log's end is read: a progress bar can be one line of megabytes.
LOG_BYTES = 2**14
MAX_REPLY_BYTES = 64 * 2**20
# What a pipe holds. Far more would be a fresh mapping for each of the thousands of short answers of a pair.
CHUNK_BYTES = 2**16
EXIT_SECONDS = 5.0


class WorkerError(Exception):
    """The worker will not answer any more requests, of which it was asked the last one."""

    def __init__(self, request: str, worker: "Worker | None" = None) -> None:
        super().__init__(request)
        self.request, self.worker = request, worker


class WorkerDiedError(WorkerError):
    """The worker closed its end of the pipe before it answered, or ``is_before`` it was asked."""

    def __init__(self, request: str, worker: "Worker | None" = None, *, is_before: bool = False) -> None:
        super().__init__(request, worker)
        self.is_before = is_before


class WorkerTimeoutError(WorkerError):
    """The worker did not answer in time and was killed."""


class WorkerHungError(WorkerTimeoutError):
    """It used next to no processor time for so long that no answer would ever come."""


class BrokenProtocolError(WorkerError):
    """The worker sent something that is not a valid answer."""

    def __init__(self, problem: BadAnswer, worker: "Worker | None" = None) -> None:
        super().__init__(problem.request, worker)
        self.problem = problem


class Worker:
    """A fresh process that answers requests. A context manager: no process survives its block."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        # Kept open: the log can be read even if the worker deletes its folder.
        self._log = (folder / "worker.log").open("w+b")
        request_read, self._requests = os.pipe()
        self._replies, reply_write = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*command, str(request_read), str(reply_write)],
                env=dict(environment),
                # An empty folder: with -m it comes first on the worker's path.
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=(request_read, reply_write),
                # In its own process group: it can be killed as a whole, and only the driver gets Ctrl-C.
                start_new_session=True,
            )
        except BaseException:
            self._log.close()
            os.close(self._requests)
            os.close(self._replies)
            raise
        finally:
            # The worker's ends: while they are open here, its death would not show as end-of-file.
            os.close(request_read)
            os.close(reply_write)
        os.set_blocking(self._requests, False)
        self._writable = select.poll()
        self._writable.register(self._requests, select.POLLOUT)
        self._line = bytearray()

    @property
    def pid(self) -> int:
        """The worker's process id, which is also its process group's."""
        return self._process.pid

    @property
    def replies(self) -> int:
        """The descriptor that its answers come from."""
        return self._replies

    def request(
        self, op: str, *, deadline: float, waiting: Callable[[], None], period_seconds: float, **fields: Any
    ) -> dict[str, Any]:
        """Send a request and return its answer, calling ``waiting`` every ``period_seconds`` and sleeping in between.

        ``deadline`` is on the monotonic clock. Raises a WorkerError if no answer will come.
        """
        self.send(op, deadline, fields)
        found = answers([self], op, deadline=deadline, waiting=waiting, period_seconds=period_seconds)
        return next(answer for _, answer in found)

    def send(self, op: str, deadline: float, fields: Mapping[str, Any]) -> None:
        """Send a request; raises a WorkerError if the worker has ended, or does not read it in time."""
        self._line = bytearray()
        line = msgspec.json.encode({"op": op, **fields}) + b"\n"
        try:
            while line:
                # A worker that never reads must not block the driver: the pipe is non-blocking, and the poll times out.
                try:
                    line = line[os.write(self._requests, line) :]
                except BlockingIOError:
                    if not self._writable.poll(max(1, round(1000 * (deadline - monotonic())))):
                        self.kill()
                        raise WorkerTimeoutError(op, self) from None
        except BrokenPipeError:
            raise WorkerDiedError(op, self, is_before=True) from None

    def read(self, op: str) -> dict[str, Any] | None:
        """Read what has arrived; the answer, None while it is not complete. Raises a WorkerError."""
        self._line += self._read_chunk(op)
        if len(self._line) > MAX_REPLY_BYTES:
            raise BrokenProtocolError(BadAnswer(request=op, fault="too_long", limit_bytes=MAX_REPLY_BYTES), self)
        return self._answer(op) if self._line.endswith(b"\n") else None

    def _read_chunk(self, op: str) -> bytes:
        chunk = os.read(self._replies, CHUNK_BYTES)
        if not chunk:
            raise WorkerDiedError(op, self)
        if rest := chunk.partition(b"\n")[2]:
            raise BrokenProtocolError(BadAnswer(request=op, fault="several", quoted=repr(rest[:80])), self)
        return chunk

    def _answer(self, op: str) -> dict[str, Any]:
        line = bytes(self._line)
        try:
            # Several times as quick as the standard library: a request for a single step waits for it.
            answer = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            problem = BadAnswer(request=op, fault="not_json", quoted=repr(line[:80]))
            raise BrokenProtocolError(problem, self) from None
        if not isinstance(answer, dict) or answer.get("status") not in ("done", "failed"):
            raise BrokenProtocolError(BadAnswer(request=op, fault="no_status", quoted=repr(line[:80])), self)
        return answer

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended; children of it may still hold its pipes open."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Kill the whole process group, including everything that the worker started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None if the worker did not exit in EXIT_SECONDS and was killed."""
        try:
            return self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def log_tail(self) -> tuple[str, ...]:
        """The last lines that the worker printed."""
        log = self._log.fileno()
        # The worker writes at the file's own position, which must not move.
        text = os.pread(log, LOG_BYTES, max(0, os.fstat(log).st_size - LOG_BYTES))
        return tuple(text.decode(errors="replace").splitlines()[-LOG_LINES:])

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
            self._log.close()


def answers(
    workers: Sequence[Worker], op: str, *, deadline: float, waiting: Callable[[], None], period_seconds: float
) -> Iterator[tuple[Worker, dict[str, Any]]]:
    """The answers of workers that a request was sent to, as they arrive; between them, ``Worker.request`` says what.

    If one does not come in time, those that have not answered are killed.
    """
    pending, watch = {worker.replies: worker for worker in workers}, select.poll()
    for descriptor in pending:
        watch.register(descriptor, select.POLLIN)
    next_call = monotonic() + period_seconds
    while pending:
        now = monotonic()
        if now >= deadline:
            for worker in pending.values():
                worker.kill()
            raise WorkerTimeoutError(op, next(iter(pending.values())))
        if now >= next_call:
            waiting()
            next_call += period_seconds * (1 + (now - next_call) // period_seconds)
            continue
        for descriptor in _readable(watch, pending, op, min(next_call, deadline) - now):
            if answer := pending[descriptor].read(op):
                watch.unregister(descriptor)
                yield pending.pop(descriptor), answer


def _readable(watch: select.poll, pending: Mapping[int, Worker], op: str, seconds: float) -> list[int]:
    """The descriptors that have something to read within that time; raises WorkerDiedError."""
    found = [descriptor for descriptor, _ in watch.poll(max(1, round(1000 * seconds)))]
    ended = [] if found else [worker for worker in pending.values() if worker.has_ended]
    if not ended:
        return found
    # What it wrote before it ended is read first.
    if found := [descriptor for descriptor, _ in watch.poll(0)]:
        return found
    # A child process holds the pipe open, so end-of-file may never come.
    raise WorkerDiedError(op, ended[0])
