"""Finds out how a run that did not finish ended."""

import signal
from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records.problems import Cause, DeathCause, Hung, OfWorkers, Problem, TimedOut, WorkerDied
from pytest_dlbench.running import messages
from pytest_dlbench.running.connection import (
    BrokenProtocolError,
    Worker,
    WorkerDiedError,
    WorkerError,
    WorkerHungError,
    WorkerTimeoutError,
)
from pytest_dlbench.running.group import Group
from pytest_dlbench.running.idleness import IDLE_SECONDS
from pytest_dlbench.sampling.memory import group_folder

# The outcome of each kind of failure that a worker reports (dlworker/operations.py).
FAILURES = {
    "missing_framework": RunOutcome.MISSING_FRAMEWORK,
    "unsupported": RunOutcome.UNSUPPORTED,
    "out_of_memory": RunOutcome.OUT_OF_MEMORY,
}

CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run ended, and why if it did not finish: because of a problem, or in the words of others."""

    outcome: RunOutcome
    problem: Problem | None = None
    message: str = ""


class NotDoneError(Exception):
    """The run ends here, with an outcome other than "finished"."""

    def __init__(self, outcome: RunOutcome, problem: Problem | None = None, message: str = "") -> None:
        super().__init__(message or problem)
        self.outcome, self.problem, self.message = outcome, problem, message

    @property
    def said(self) -> str:
        """The first line of what a worker said that refused a request."""
        words = self.problem.said if isinstance(self.problem, OfWorkers) else self.message
        return words.partition("\n")[0]


def explain(
    error: WorkerError, worker: Worker | Group, kills_before: int, timeout_seconds: float
) -> tuple[RunOutcome, Cause]:
    """The outcome and the problem of a worker that stopped answering."""
    if isinstance(error, WorkerHungError):
        return RunOutcome.TIMEOUT, Hung(request=error.request, idle_seconds=IDLE_SECONDS)
    if isinstance(error, WorkerTimeoutError):
        return RunOutcome.TIMEOUT, TimedOut(request=error.request, limit_seconds=timeout_seconds)
    if isinstance(error, BrokenProtocolError):
        return RunOutcome.BROKEN_PROTOCOL, error.problem
    assert isinstance(error, WorkerDiedError)
    outcome, cause, number = _death(worker.exit_status(), kills_before)
    return outcome, WorkerDied(request=error.request, is_before=error.is_before, cause=cause, number=number)


def _death(status: int | None, kills_before: int) -> tuple[RunOutcome, DeathCause, int]:
    """How a worker with this exit status ended, and the number of that."""
    if status is None:
        return RunOutcome.BROKEN_PROTOCOL, "pipe", 0
    if status == -signal.SIGKILL and memory_kills() > kills_before:
        return RunOutcome.OUT_OF_MEMORY, "memory", 0
    return RunOutcome.CRASHED, "status" if status >= 0 else "signal", abs(status)


def quote(failed: messages.Failed) -> str:
    """The worker's message about its failure, with the traceback of an unexpected Python error."""
    return failed.message if failed.kind != "error" else f"{failed.message}\n{failed.traceback.rstrip()}"


def memory_kills(root: Path = CGROUPS, membership: Path = Path("/proc/self/cgroup")) -> int:
    """How often the kernel has killed a process of our control group for lack of memory; 0 if it does not count."""
    try:
        lines = membership.read_text("utf-8", "replace").splitlines()
    except OSError:
        return 0
    total = 0
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            total += _count(group_folder(root, path) / "memory.events")
        elif "memory" in controllers.split(","):
            total += _count(group_folder(root / "memory", path) / "memory.oom_control")
    return total


def _count(file: Path) -> int:
    try:
        fields = dict(
            line.split(maxsplit=1) for line in file.read_text("utf-8", "replace").splitlines() if line.strip()
        )
        return int(fields.get("oom_kill", 0))
    except (OSError, ValueError):
        return 0
