"""What the workers of one host send each other: the bytes that its loopback interface received, for all processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

COUNTER = Path("/sys/class/net/lo/statistics/rx_bytes")
LOOPBACK_BYTES = "loopback_bytes"


@dataclass(slots=True)
class Loopback:
    """A sampler of ``loopback_bytes``, which include the headers of packets; none where the kernel does not count."""

    counter: Path = COUNTER
    _before: int | None = field(default=None, init=False)

    def begin(self) -> None:
        """Start counting."""
        self._before = self._count()

    def sample(self) -> None:
        """Nothing: the counter is cumulative."""

    def end(self) -> Mapping[str, float]:
        """The bytes since ``begin``."""
        now = self._count()
        return {} if now is None or self._before is None else {LOOPBACK_BYTES: float(now - self._before)}

    def _count(self) -> int | None:
        try:
            return int(self.counter.read_text("utf-8", "replace"))
        except (OSError, ValueError):
            return None
