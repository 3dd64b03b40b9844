"""NVIDIA GPUs through NVML, the library of their driver (nvidia-ml-py, module ``pynvml``)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
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


def open_gpus(names: Sequence[str] | None = None) -> list["NvmlGpu"]:
    """The named GPUs (indices in PCI order, UUIDs or beginnings of them); all for None, none for an empty list.

    CUDA cannot compute on the whole of a GPU that is sliced (MIG): its slices are opened instead. Without names, a GPU
    that fell off the bus is omitted. Raises NoGpuError without a driver, library or GPU.
    """
    if names is not None and not names:
        raise NoGpuError(HIDDEN)
    nvml = _library()
    try:
        nvml.nvmlInit()
        handles = _all(nvml) if names is None else [_handle(nvml, name) for name in names]
        gpus = [NvmlGpu(nvml, one) for handle in handles for one in _usable(nvml, handle)]
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


def _all(nvml: Any) -> list[Any]:
    """The GPUs that are still on the bus; if none is, NVML's error for the first."""
    handles, errors = [], []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handles.append(nvml.nvmlDeviceGetHandleByIndex(index))
        except nvml.NVMLError as error:
            errors.append(error)
    if errors and not handles:
        raise errors[0]
    return handles


def _handle(nvml: Any, name: str) -> Any:
    if name.isdigit():
        return nvml.nvmlDeviceGetHandleByIndex(int(name))
    try:
        return nvml.nvmlDeviceGetHandleByUUID(name)
    except nvml.NVMLError:
        # CUDA accepts the beginning of a UUID, NVML does not.
        found = [handle for handle in _all(nvml) if str(nvml.nvmlDeviceGetUUID(handle)).startswith(name)]
        if len(found) != 1:
            raise
        return found[0]


def _usable(nvml: Any, handle: Any) -> list[Any]:
    """The slices of a GPU in MIG mode, else the GPU, or the slice, itself."""
    try:
        if nvml.nvmlDeviceGetMigMode(handle)[0] != nvml.NVML_DEVICE_MIG_ENABLE:
            return [handle]
    except nvml.NVMLError:
        # A GPU without this mode, a driver without it, or a slice.
        return [handle]
    return list(_slices(nvml, handle))


def _slices(nvml: Any, handle: Any) -> Iterator[Any]:
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        # Numbers without a slice are between others.
        with suppress(nvml.NVMLError_NotFound):
            yield nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)


def _process_list(nvml: Any, handle: Any) -> Callable[[Any], Any]:
    """The function that lists the processes on a GPU: drivers before 510, the last for K80, have an older one."""
    try:
        # Without its version, pynvml's function raises an error that is no NVMLError.
        nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)
    except nvml.NVMLError_FunctionNotFound:
        return nvml.nvmlDeviceGetComputeRunningProcesses_v2  # type: ignore[no-any-return]
    except nvml.NVMLError:
        # It exists, and may succeed later.
        pass
    return nvml.nvmlDeviceGetComputeRunningProcesses_v3  # type: ignore[no-any-return]


def _on(mode: int | None) -> str | None:
    return None if mode is None else ("off", "on")[mode]


class NvmlGpu:
    """One GPU, or one MIG slice of a GPU. ``absent`` has what it does not report, with NVML's reason."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self.name = str(nvml.nvmlDeviceGetName(handle))
        self.uuid = str(nvml.nvmlDeviceGetUUID(handle))
        self.absent: dict[str, str] = {}
        self._is_slice = self.uuid.startswith("MIG-")
        self._list_processes = _process_list(nvml, handle)

    @property
    def total_bytes(self) -> int | None:
        """The memory that is installed, or that a slice has."""
        memory = self._ask("memory", self._nvml.nvmlDeviceGetMemoryInfo)
        return None if memory is None else int(memory.total)

    @property
    def capability(self) -> tuple[int, int] | None:
        """The compute capability, such as (8, 0)."""
        found: tuple[int, int] | None = self._ask("compute capability", self._nvml.nvmlDeviceGetCudaComputeCapability)
        return found

    @property
    def bus(self) -> str:
        """Its address on the PCI bus as the kernel writes it, such as 0000:07:00.0; empty if it is not reported."""
        found = self._ask("PCI address", self._nvml.nvmlDeviceGetPciInfo)
        if found is None:
            return ""
        address = found.busId.decode() if isinstance(found.busId, bytes) else str(found.busId)
        # NVML's domains have eight digits, the kernel's four.
        domain, _, rest = address.lower().partition(":")
        return f"{domain[-4:]}:{rest}"

    @property
    def driver(self) -> str:
        """The version of NVIDIA's driver."""
        return str(self._nvml.nvmlSystemGetDriverVersion())

    @property
    def settings(self) -> Mapping[str, str]:
        """What its administrator may have set, and the link that it is plugged into; only what it reports."""
        nvml = self._nvml
        milliwatts = self._ask("power limit", nvml.nvmlDeviceGetPowerManagementLimit)
        ecc = self._ask("error correction", nvml.nvmlDeviceGetEccMode)
        found = {
            "power limit": None if milliwatts is None else f"{milliwatts / 1000:g} W",
            "error correction": None if ecc is None else _on(ecc[0]),
            "persistence mode": _on(self._ask("persistence mode", nvml.nvmlDeviceGetPersistenceMode)),
            "PCIe": self._link(),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _link(self) -> str | None:
        """An idle link runs at a lower generation; that of the slot does not change."""
        generation = self._ask("PCIe generation", self._nvml.nvmlDeviceGetMaxPcieLinkGeneration)
        lanes = self._ask("PCIe lanes", self._nvml.nvmlDeviceGetCurrPcieLinkWidth)
        return None if generation is None or lanes is None else f"generation {generation}, {lanes} lanes"

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
        processes = self._ask("processes", self._list_processes)
        return None if processes is None else {process.pid: process.usedGpuMemory for process in processes}

    def _slowed_by(self) -> tuple[str, ...]:
        bits = self._ask("reasons for slowing", self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons)
        return tuple(text for name, text in SLOWED.items() if (bits or 0) & getattr(self._nvml, name))

    def _ask(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(self._handle, *arguments)
        except self._nvml.NVMLError as error:
            self.absent[what] = f"{error}{' (MIG slice)' if self._is_slice else ''}"
            return None
