"""Where a framework computes."""

from dataclasses import dataclass
from pathlib import Path

# What the kernel drivers of NVIDIA and of AMD make.
GPU_FILES = (Path("/dev/nvidiactl"), Path("/dev/kfd"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device by the name that options, marks and ids use."""

    name: str

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of its cells."""
        return (self.name,)

    @property
    def is_here(self) -> bool:
        """Whether this machine has it; no driver is asked, none is loaded."""
        return self.name == "cpu" or any(file.exists() for file in GPU_FILES)


DEVICES: dict[str, Device] = {device.name: device for device in (Device(name="cpu"), Device(name="gpu"))}
