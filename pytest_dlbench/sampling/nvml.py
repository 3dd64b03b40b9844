"""NVIDIA cards through NVML, the library of their driver (nvidia-ml-py, module ``pynvml``)."""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from pytest_dlbench.records import POWER_LIMIT
from pytest_dlbench.sampling.gpu import GpuReading

# Reasons that are trouble of the machine. Others are wanted or harmless: idle, a clock that somebody set.
SLOWED = {
    "nvmlClocksThrottleReasonHwThermalSlowdown": "hot (hardware)",
    "nvmlClocksThrottleReasonSwThermalSlowdown": "hot (driver)",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "power brake",
    # All that old drivers tell of heat and power brakes, and with new ones of too steep a rise of power.
    "nvmlClocksThrottleReasonHwSlowdown": "heat or power (hardware)",
    "nvmlClocksThrottleReasonSwPowerCap": POWER_LIMIT,
}


class NoCardsError(Exception):
    """NVML cannot be asked; the text says why."""


def open_cards(names: Sequence[str] = (), nvml: Any = None) -> list["NvmlCard"]:
    """The cards of these names (indices or UUIDs), else all. Raises NoCardsError without driver, library or card."""
    nvml = nvml or _library()
    try:
        nvml.nvmlInit()
        names = names or [str(index) for index in range(nvml.nvmlDeviceGetCount())]
        cards = [NvmlCard(nvml, _handle(nvml, name)) for name in names]
    except nvml.NVMLError as error:
        raise NoCardsError(f"NVML, the library of NVIDIA's driver: {error}") from None
    if not cards:
        raise NoCardsError("NVIDIA's driver knows no card")
    return cards


def _library() -> Any:
    try:
        import pynvml  # noqa: PLC0415 - a CPU case needs no driver
    except ImportError:
        raise NoCardsError("the package nvidia-ml-py is not installed") from None
    return pynvml


def _handle(nvml: Any, name: str) -> Any:
    return nvml.nvmlDeviceGetHandleByIndex(int(name)) if name.isdigit() else nvml.nvmlDeviceGetHandleByUUID(name)


class NvmlCard:
    """One card, or one slice of a card (MIG). What it does not tell is in ``absent``, with NVML's reason."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self.name = str(nvml.nvmlDeviceGetName(handle))
        self.uuid = str(nvml.nvmlDeviceGetUUID(handle))
        self.absent: dict[str, str] = {}
        mode = self._ask("slicing (MIG)", nvml.nvmlDeviceGetMigMode)
        # What has no such mode is not sliced.
        self.absent.pop("slicing (MIG)", None)
        # A slice itself is no card that could be sliced.
        self._is_sliced = self.uuid.startswith("MIG-") or (mode is not None and mode[0] == 1)

    def read(self) -> GpuReading:
        """Everything now; what fails once is asked again the next time."""
        nvml = self._nvml
        rates = self._ask("utilisation", nvml.nvmlDeviceGetUtilizationRates)
        memory = self._ask("memory", nvml.nvmlDeviceGetMemoryInfo)
        milliwatts = self._ask("power", nvml.nvmlDeviceGetPowerUsage)
        millijoules = self._ask("energy counter", nvml.nvmlDeviceGetTotalEnergyConsumption)
        return GpuReading(
            seconds=monotonic(),
            utilisation=None if rates is None else rates.gpu / 100,
            memory_bytes=None if memory is None else memory.used,
            process_bytes=self._process_bytes(),
            watts=None if milliwatts is None else milliwatts / 1000,
            joules=None if millijoules is None else millijoules / 1000,
            celsius=self._ask("temperature", nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            sm_mhz=self._ask("clock", nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            slowed_by=self._slowed_by(),
        )

    def _process_bytes(self) -> Mapping[int, int | None] | None:
        processes = self._ask("processes", self._nvml.nvmlDeviceGetComputeRunningProcesses)
        return None if processes is None else {process.pid: process.usedGpuMemory for process in processes}

    def _slowed_by(self) -> tuple[str, ...]:
        bits = self._ask("reasons for slowing", self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons)
        return tuple(text for name, text in SLOWED.items() if (bits or 0) & getattr(self._nvml, name))

    def _ask(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(self._handle, *arguments)
        except self._nvml.NVMLError as error:
            sliced = " (the card is sliced, MIG)" if getattr(self, "_is_sliced", False) else ""
            self.absent[what] = f"{error}{sliced}"
            return None
