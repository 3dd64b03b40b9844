"""What fetching and importing tell while they go on; the command line decides what of it is shown."""

from typing import Protocol


class Watcher(Protocol):
    """A listener."""

    def begin(self, doing: str, total_bytes: int | None = None) -> None:
        """A piece of work begins, of so many bytes where that is known."""
        ...

    def advance(self, done_bytes: int) -> None:
        """So many bytes more of it are done."""
        ...


class Unwatched:
    """A listener that shows nothing."""

    def begin(self, doing: str, total_bytes: int | None = None) -> None:
        """Show nothing."""

    def advance(self, done_bytes: int) -> None:
        """Show nothing."""


UNWATCHED = Unwatched()
