"""What a search asks of an engine."""

from collections.abc import Callable
from typing import Protocol

from pytest_dlbench.planning.search_space import Choice, SearchSpace


class Engine(Protocol):
    """Proposes one point of a space after the other; the same ones for the same seed and the same answers."""

    def ask(self) -> Choice:
        """The next point."""

    def tell(self, accuracy: float | None) -> None:
        """The validation accuracy of the last point; None if its trial failed."""


MakeEngine = Callable[[SearchSpace, int], Engine]
"""An engine for a space and a seed."""
