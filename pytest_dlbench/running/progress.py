"""What running tells while it goes on; reporting decides what of it is shown."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from pytest_dlbench.records import Case, Run

PHASES: Final[Mapping[str, str]] = {
    "hello": "import",
    "build": "build",
    "infer": "inference",
    "evaluate": "evaluation",
    "check_steps": "check of steps",
    "profile": "profile",
    "close": "end",
}
"""What a worker does, by the request that it was sent."""


def phase(op: str, fields: Mapping[str, Any], steps: int) -> str:
    """What a request asks for, as people say it; ``steps`` are all of the run."""
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

    def waiting(self, case: Case, device: str) -> None:
        """Another session measures on this device."""
        ...

    def run_started(self, case: Case, index: int, runs: int, side: str = "") -> None:
        """Run ``index`` (from 0) of ``runs`` begins; ``side`` says which one of two it is of."""
        ...

    def phase_began(self, phase: str) -> None:
        """The run that was started last is asked for this; what it was asked for before is done."""
        ...

    def run_finished(self, case: Case, run: Run, index: int, runs: int, side: str = "") -> None:
        """It ended, however."""
        ...


class Silent:
    """A listener that shows nothing: for workers of pytest-xdist, and for -q."""

    def building(self, name: str, doing: str) -> None:
        """Show nothing."""

    def waiting(self, case: Case, device: str) -> None:
        """Show nothing."""

    def run_started(self, case: Case, index: int, runs: int, side: str = "") -> None:
        """Show nothing."""

    def phase_began(self, phase: str) -> None:
        """Show nothing."""

    def run_finished(self, case: Case, run: Run, index: int, runs: int, side: str = "") -> None:
        """Show nothing."""
