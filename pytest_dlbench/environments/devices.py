"""The devices that frameworks compute on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Created by the kernel drivers of NVIDIA and AMD.
GPU_FILES = (Path("/dev/nvidiactl"), Path("/dev/kfd"))
# GPUs of other vendors, and those of Windows: some frameworks compute on them, but not enough do by default.
OTHER_FILES = ("dri/renderD*", "dxg")
VISIBLE = "CUDA_VISIBLE_DEVICES"
# The code for GPUs, on the processor: it shows that the code works, and no figure of a GPU.
OPENCL = "opencl:cpu"
OPENCL_DRIVERS = Path("/etc/OpenCL/vendors")


def visible_gpus(variables: Mapping[str, str] = os.environ) -> tuple[str, ...] | None:
    """The indices and UUIDs in CUDA_VISIBLE_DEVICES; None if it is not set, so that all GPUs may be used.

    As in CUDA, the list ends at the first entry that is not a GPU: "", "-1" and "NoDevFiles" hide all of them.
    """
    if VISIBLE not in variables:
        return None
    names = [name.strip() for name in variables[VISIBLE].split(",")]
    end = next((place for place, name in enumerate(names) if not _may_be_gpu(name)), len(names))
    return tuple(dict.fromkeys(names[:end]))


def _may_be_gpu(name: str) -> bool:
    return name.isdigit() or name.startswith(("GPU-", "MIG-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device, with the name that marks and ids use.

    ``numbers`` select some of the GPUs that a session may use, in PCI order or in that of CUDA_VISIBLE_DEVICES, from 0;
    all if empty. They are in no id: any GPU of a kind has the same figures and baselines.
    """

    name: str
    numbers: tuple[int, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of this device's cells."""
        return (self.name.partition(":")[0],)

    @property
    def in_id(self) -> str:
        """Its name in ids of cases, which name files."""
        return self.name.replace(":", "-")

    @property
    def is_available(self) -> bool:
        """Whether this session may use such a device; decided without querying or loading a driver."""
        if self.name == OPENCL:
            return any(OPENCL_DRIVERS.glob("*.icd"))
        return self.name == "cpu" or (not self.is_hidden and any(file.exists() for file in GPU_FILES))

    @property
    def may_exist(self) -> bool:
        """Whether a framework might find such a device, of any vendor, if somebody asks for it."""
        if self.name == OPENCL:
            return self.is_available
        others = (found for pattern in OTHER_FILES for found in Path("/dev").glob(pattern))
        return self.is_available or (not self.is_hidden and any(others))

    @property
    def is_hidden(self) -> bool:
        """Whether CUDA_VISIBLE_DEVICES hides all such devices from this session."""
        return self.name == "gpu" and visible_gpus() == ()


def numbered(name: str) -> Device | None:
    """The device of a name with a colon, such as ``gpu:0``, ``gpu:0,1`` or ``opencl:cpu``; None for another name."""
    if name == OPENCL:
        return Device(name=name)
    device, _, numbers = name.partition(":")
    found = numbers.split(",")
    if device != "gpu" or not all(number.isdecimal() for number in found):
        return None
    return Device(name=device, numbers=tuple(dict.fromkeys(map(int, found))))


DEVICES: dict[str, Device] = {device.name: device for device in (Device(name="cpu"), Device(name="gpu"))}
