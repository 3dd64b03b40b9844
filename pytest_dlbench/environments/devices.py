"""The devices that frameworks compute on."""

from dataclasses import dataclass
from pathlib import Path

# Created by the kernel drivers of NVIDIA and AMD.
GPU_FILES = (Path("/dev/nvidiactl"), Path("/dev/kfd"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device, with the name that options, marks and ids use."""

    name: str

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of this device's cells."""
        return (self.name,)

    @property
    def is_available(self) -> bool:
        """Whether this machine has the device; decided without querying or loading a driver."""
        return self.name == "cpu" or any(file.exists() for file in GPU_FILES)


DEVICES: dict[str, Device] = {device.name: device for device in (Device(name="cpu"), Device(name="gpu"))}
