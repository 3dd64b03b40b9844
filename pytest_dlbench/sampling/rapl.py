"""Energy of the processors and of their memory, from the counters that they keep (RAPL, by the kernel's powercap).

They are of the whole machine: idle power and neighbours are in them. Nothing is estimated where they cannot be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ZONES = Path("/sys/class/powercap")
KINDS = ("package", "dram")


class CannotRead(Exception):  # noqa: N818 - no fault: most virtual machines are like this
    """There is no such thing here; the text says why."""


@dataclass(slots=True)
class _Zone:
    """One counter in microjoules, which starts again at 0 behind its range."""

    kind: str
    file: Path
    range_uj: int
    last_uj: int = 0
    used_uj: int = 0

    def begin(self) -> None:
        self.last_uj, self.used_uj = int(self.file.read_text()), 0

    def sample(self) -> None:
        now = int(self.file.read_text())
        self.used_uj += (now - self.last_uj) % (self.range_uj + 1)
        self.last_uj = now


@dataclass(slots=True)
class Rapl:
    """A sampler of ``package_joules`` and ``dram_joules``; raises CannotRead where there is nothing to read."""

    root: Path = ZONES
    _zones: list[_Zone] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._zones = [zone for folder in sorted(self.root.glob("*rapl:*")) for zone in _zones(folder)]
        if not self._zones:
            raise CannotRead(f"no energy counter of the processor (RAPL) in {self.root}: usual in virtual machines")
        try:
            self.begin()
        except OSError as error:
            advice = "kernels since 5.10 let only root read it; chmod a+r, or a udev rule, lets others"
            raise CannotRead(f"{error.filename}: {error.strerror}; {advice}") from None

    def begin(self) -> None:
        """Start at 0."""
        for zone in self._zones:
            zone.begin()

    def sample(self) -> None:
        """Read every counter before it comes round."""
        for zone in self._zones:
            zone.sample()

    def end(self) -> Mapping[str, float]:
        """Joules of each kind since the begin, over all sockets."""
        self.sample()
        found: dict[str, float] = {}
        for zone in self._zones:
            name = f"{zone.kind}_joules"
            found[name] = found.get(name, 0.0) + zone.used_uj / 1e6
        return found


def _zones(folder: Path) -> list[_Zone]:
    try:
        name = (folder / "name").read_text().strip()
        size = int((folder / "max_energy_range_uj").read_text())
    except (OSError, ValueError):
        return []
    return [_Zone(kind, folder / "energy_uj", size) for kind in KINDS if name.partition("-")[0] == kind]
