"""What running tells while it goes on; reporting decides what of it is shown."""

from typing import Protocol

from pytest_dlbench.records import Case, Run


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

    def run_finished(self, case: Case, run: Run, index: int, runs: int, side: str = "") -> None:
        """Show nothing."""
