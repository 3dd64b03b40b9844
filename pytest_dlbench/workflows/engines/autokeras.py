"""AutoKeras' own search: greedy, among its own networks. What it has learnt is in a folder of the search."""

import tempfile
from pathlib import Path

from pytest_dlbench.planning.autokeras_search import Proposal


class AutoKerasEngine:
    """Counts the trials: AutoKeras proposes and judges its networks itself, in the process of each trial."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dlbench-autokeras-")
        self._asked = 0

    def ask(self) -> Proposal:
        """Whatever AutoKeras proposes next."""
        self._asked += 1
        return Proposal(folder=Path(self._folder.name), number=self._asked - 1)

    def tell(self, accuracy: float | None) -> None:
        """The process of the trial has given it to AutoKeras."""

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()
