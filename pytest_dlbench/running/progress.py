"""The progress that runs report; the reporting layer decides what to show."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from pytest_dlbench.records import Case, Run
from pytest_dlbench.running.waits import Wait

PHASES: Final[Mapping[str, str]] = {
    "hello": "import",
    "build": "build",
    "infer": "inference",
    "evaluate": "evaluation",
    "validate": "validation",
    "check_steps": "check of steps",
    "check_updates": "check of updates",
    "save": "checkpoint",
    "resume": "resumed training",
    "prepare": "build",
    "operate": "calls",
    "check_calls": "check of calls",
    "profile": "profile",
    "break_down": "phases of a step",
    "count": "count",
    "library_calls": "calls of libraries",
    "recurrent_kernels": "kernels of recurrent layers",
    "close": "end",
}
"""The name of what a worker does, by request."""


def phase(op: str, fields: Mapping[str, Any], steps: int) -> str:
    """The name of a request for people; ``steps`` is the number of all steps of the run."""
    if op == "train":
        more = f" and {fields['steps'] - 1:,} more" if fields["steps"] > 1 else ""
        return f"first step{more}{f' of {steps:,}' if fields['steps'] < steps else ''}"
    if op == "train_on":
        first, last = fields["first"] + 1, fields["first"] + fields["steps"]
        return f"steps {first:,} to {last:,} of {steps:,}"
    return PHASES.get(op, op)


class Progress(Protocol):
    """A listener. Nothing here is called while a worker measures."""

    def building(self, name: str, doing: str) -> None:
        """An environment is being built, or waited for."""
        ...

    def waiting(self, case: Case, wait: Wait) -> None:
        """Another session uses the device; called again every minute."""
        ...

    def run_started(self, case: Case, index: int, runs: int, side: str = "") -> None:
        """Run ``index`` (from 0) of ``runs`` begins; ``side`` names its side if it is one of a pair."""
        ...

    def phase_began(self, phase: str) -> None:
        """The run that was started last begins this phase; the previous phase is complete."""
        ...

    def run_finished(self, case: Case, run: Run, index: int, runs: int, side: str = "") -> None:
        """The run ended, with any outcome."""
        ...


class Silent:
    """A listener that shows nothing: for workers of pytest-xdist, and for -q."""

    def building(self, name: str, doing: str) -> None:
        """Show nothing."""

    def waiting(self, case: Case, wait: Wait) -> None:
        """Show nothing."""

    def run_started(self, case: Case, index: int, runs: int, side: str = "") -> None:
        """Show nothing."""

    def phase_began(self, phase: str) -> None:
        """Show nothing."""

    def run_finished(self, case: Case, run: Run, index: int, runs: int, side: str = "") -> None:
        """Show nothing."""
