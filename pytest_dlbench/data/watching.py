"""Progress of fetching and importing; the command line decides what is shown."""

from typing import Protocol


class Watcher(Protocol):
    """A listener for progress."""

    def begin(self, doing: str, total_bytes: int | None = None) -> None:
        """A piece of work begins; ``total_bytes`` is its size, if known."""
        ...

    def advance(self, done_bytes: int) -> None:
        """A further ``done_bytes`` bytes of it are done."""
        ...


class Unwatched:
    """A listener that shows nothing."""

    def begin(self, doing: str, total_bytes: int | None = None) -> None:
        """Show nothing."""

    def advance(self, done_bytes: int) -> None:
        """Show nothing."""


UNWATCHED = Unwatched()
