"""What a search asks of an engine."""

from typing import Protocol

from pytest_dlbench.planning.search_plan import Point


class Engine(Protocol):
    """Proposes one network after the other; the same ones for the same seed and the same answers."""

    def ask(self) -> Point:
        """The next network."""

    def tell(self, accuracy: float | None) -> None:
        """The validation accuracy of the last one; None if its trial failed."""

    def close(self) -> None:
        """The search has ended."""
