"""Energy of the processors and their memory, from the processors' own counters (RAPL, through the kernel's powercap).

They count the whole machine, including idle power and other processes. Nothing is estimated if they cannot be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ZONES = Path("/sys/class/powercap")
KINDS = ("package", "dram")


class CannotRead(Exception):  # noqa: N818 - not an error: most virtual machines are like this
    """No energy counter can be read on this machine; the message says why."""


@dataclass(slots=True)
class _Zone:
    """One counter in microjoules, which wraps to 0 after its range."""

    kind: str
    file: Path
    range_uj: int
    last_uj: int = 0
    used_uj: int = 0

    def begin(self) -> None:
        self.last_uj, self.used_uj = int(self.file.read_text("utf-8", "replace")), 0

    def sample(self) -> None:
        now = int(self.file.read_text("utf-8", "replace"))
        self.used_uj += (now - self.last_uj) % (self.range_uj + 1)
        self.last_uj = now


@dataclass(slots=True)
class Rapl:
    """A sampler of ``package_joules`` and ``dram_joules``; raises CannotRead if there is no readable counter."""

    root: Path = ZONES
    _zones: list[_Zone] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._zones = [zone for folder in sorted(self.root.glob("*rapl:*")) for zone in _zones(folder)]
        if not self._zones:
            raise CannotRead(f"no energy counter of the processor (RAPL) in {self.root}: usual in virtual machines")
        try:
            self.begin()
        except OSError as error:
            advice = "since Linux 5.10 only root may read it; allow others with chmod a+r or a udev rule"
            raise CannotRead(f"{error.filename}: {error.strerror}; {advice}") from None

    def begin(self) -> None:
        """Start counting from 0."""
        for zone in self._zones:
            zone.begin()

    def sample(self) -> None:
        """Read every counter, which must happen at least once per wrap-around."""
        for zone in self._zones:
            zone.sample()

    def end(self) -> Mapping[str, float]:
        """Joules of each kind since ``begin``, summed over all sockets."""
        self.sample()
        found: dict[str, float] = {}
        for zone in self._zones:
            name = f"{zone.kind}_joules"
            found[name] = found.get(name, 0.0) + zone.used_uj / 1e6
        return found


def _zones(folder: Path) -> list[_Zone]:
    try:
        name = (folder / "name").read_text("utf-8", "replace").strip()
        size = int((folder / "max_energy_range_uj").read_text("utf-8", "replace"))
    except (OSError, ValueError):
        return []
    return [_Zone(kind, folder / "energy_uj", size) for kind in KINDS if name.partition("-")[0] == kind]
