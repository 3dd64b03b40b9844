"""Explains how a run that did not finish ended, in words that a user can act on."""

import signal
from pathlib import Path

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running import messages
from pytest_dlbench.running.connection import Worker, WorkerDiedError, WorkerError, WorkerTimeoutError
from pytest_dlbench.running.group import Group
from pytest_dlbench.sampling.memory import group_folder

# The outcome of each kind of failure that a worker reports (dlworker/operations.py).
FAILURES = {
    "missing_framework": RunOutcome.MISSING_FRAMEWORK,
    "unsupported": RunOutcome.UNSUPPORTED,
    "out_of_memory": RunOutcome.OUT_OF_MEMORY,
}

CGROUPS = Path("/sys/fs/cgroup")


class NotDoneError(Exception):
    """The run ends here, with an outcome other than "finished"."""

    def __init__(self, outcome: RunOutcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def explain(
    error: WorkerError, worker: Worker | Group, kills_before: int, timeout_seconds: float
) -> tuple[RunOutcome, str]:
    """Outcome and message for a worker that stopped answering."""
    if isinstance(error, WorkerTimeoutError):
        message = f"{error}: the run was ended after {timeout_seconds:g} s; --dlbench-timeout=SECONDS allows more"
        return RunOutcome.TIMEOUT, message
    if not isinstance(error, WorkerDiedError):
        return RunOutcome.BROKEN_PROTOCOL, str(error)
    status = worker.exit_status()
    if status is None:
        return RunOutcome.BROKEN_PROTOCOL, f"{error}, or so it seemed: it closed its pipe, did not exit, and was killed"
    if status == -signal.SIGKILL and memory_kills() > kills_before:
        return RunOutcome.OUT_OF_MEMORY, f"{error}: the kernel killed it because memory ran out"
    if status >= 0:
        return RunOutcome.CRASHED, f"{error} (exit status {status})"
    advice = "; the kernel's log shows whether memory ran out" if status == -signal.SIGKILL else ""
    return RunOutcome.CRASHED, f"{error} ({_signal_name(-status)}){advice}"


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


def _signal_name(number: int) -> str:
    try:
        return f"killed by {signal.Signals(number).name}"
    except ValueError:
        return f"killed by signal {number}"
