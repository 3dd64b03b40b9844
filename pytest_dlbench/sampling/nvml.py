"""NVIDIA GPUs through NVML, the library of their driver (nvidia-ml-py, module ``pynvml``)."""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from pytest_dlbench.records import POWER_LIMIT
from pytest_dlbench.sampling.gpu import GpuReading

# Reasons that mean trouble with the machine. Others are intended or harmless: idle, a clock that somebody set.
SLOWED = {
    "nvmlClocksThrottleReasonHwThermalSlowdown": "hot (hardware)",
    "nvmlClocksThrottleReasonSwThermalSlowdown": "hot (driver)",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "power brake",
    # The only reason that old drivers report for heat and power brakes; new ones also set it when power rises too fast.
    "nvmlClocksThrottleReasonHwSlowdown": "heat or power (hardware)",
    "nvmlClocksThrottleReasonSwPowerCap": POWER_LIMIT,
}


HIDDEN = "CUDA_VISIBLE_DEVICES hides all GPUs"


class NoGpuError(Exception):
    """NVML finds no GPU; the message says why."""


def open_gpus(names: Sequence[str] | None = None, nvml: Any = None) -> list["NvmlGpu"]:
    """The named GPUs (indices, UUIDs or beginnings of them); all for None, none for an empty list.

    Raises NoGpuError without a driver, library or GPU.
    """
    if names is not None and not names:
        raise NoGpuError(HIDDEN)
    nvml = nvml or _library()
    try:
        nvml.nvmlInit()
        if names is None:
            names = [str(index) for index in range(nvml.nvmlDeviceGetCount())]
        gpus = [NvmlGpu(nvml, _handle(nvml, name)) for name in names]
    except nvml.NVMLError as error:
        raise NoGpuError(f"NVML, the library of NVIDIA's driver: {error}") from None
    if not gpus:
        raise NoGpuError("NVIDIA's driver finds no GPU")
    return gpus


def _library() -> Any:
    try:
        import pynvml  # noqa: PLC0415 - a CPU case needs no driver
    except ImportError:
        raise NoGpuError("the package nvidia-ml-py is not installed") from None
    return pynvml


def _handle(nvml: Any, name: str) -> Any:
    if name.isdigit():
        return nvml.nvmlDeviceGetHandleByIndex(int(name))
    try:
        return nvml.nvmlDeviceGetHandleByUUID(name)
    except nvml.NVMLError:
        # CUDA accepts the beginning of a UUID, NVML does not.
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        found = [handle for handle in handles if str(nvml.nvmlDeviceGetUUID(handle)).startswith(name)]
        if len(found) != 1:
            raise
        return found[0]


class NvmlGpu:
    """One GPU, or one MIG slice of a GPU. ``absent`` has what it does not report, with NVML's reason."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self.name = str(nvml.nvmlDeviceGetName(handle))
        self.uuid = str(nvml.nvmlDeviceGetUUID(handle))
        self.absent: dict[str, str] = {}
        mode = self._ask("slicing (MIG)", nvml.nvmlDeviceGetMigMode)
        # A GPU without this mode is not sliced.
        self.absent.pop("slicing (MIG)", None)
        # A slice itself does not report a MIG mode.
        self._is_sliced = self.uuid.startswith("MIG-") or (mode is not None and mode[0] == 1)

    def read(self) -> GpuReading:
        """Read all figures now; a query that fails is tried again next time."""
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
            sliced = " (MIG slice)" if getattr(self, "_is_sliced", False) else ""
            self.absent[what] = f"{error}{sliced}"
            return None
