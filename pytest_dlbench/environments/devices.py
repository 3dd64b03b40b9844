"""Where a framework computes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device by the name that options, marks and ids use."""

    name: str

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of its cells."""
        return (self.name,)


DEVICES: dict[str, Device] = {"cpu": Device(name="cpu")}
