"""The NVIDIA GPUs that a session may use, by kind: what a machine class is named after."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dlbench.sampling.nvml import open_gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledGpu:
    """A GPU or a MIG slice. GPUs of one ``kind`` may stand in for each other; a slice has its profile in its model."""

    uuid: str
    model: str
    memory_gib: int
    capability: tuple[int, int] | None = None
    """The compute capability, which decides what code it runs; None if the driver does not report it."""

    bus: str = ""
    """Its address on the PCI bus, such as 0000:07:00.0; empty if the driver does not report it."""

    @property
    def kind(self) -> str:
        """Its model and memory, such as "NVIDIA A100-SXM4-40GB, 40 GiB"."""
        return f"{self.model}, {self.memory_gib} GiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """The GPUs in PCI order, or in that of their names, and the driver's version."""

    gpus: tuple[InstalledGpu, ...]
    driver: str


def installed(names: Sequence[str] | None = None) -> Installed:
    """The named GPUs, all for None; raises NoGpuError."""
    gpus = open_gpus(names)
    found = (
        InstalledGpu(
            uuid=gpu.uuid,
            model=gpu.name,
            memory_gib=_memory_gib(gpu.total_bytes),
            capability=gpu.capability,
            bus=gpu.bus,
        )
        for gpu in gpus
    )
    return Installed(gpus=tuple(found), driver=gpus[0].driver)


def _memory_gib(total: int | None) -> int:
    return round(total / 2**30) if total else 0
