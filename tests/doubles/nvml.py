"""NVML without a GPU: the functions of the real module, with its signatures and errors, returning what is set."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml

GPU = {
    "name": "NVIDIA A100-SXM4-40GB",
    "uuid": "GPU-5f3c",
    "utilisation": 90,
    "memory": 10 * 2**30,
    "milliwatts": 300_000,
    "millijoules": 5_000_000,
    "celsius": 61,
    "mhz": 1410,
    "reasons": 0,
    "processes": {},
    "mig": pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED),
}


@dataclass
class FakeNvml:
    """``gpus`` are dictionaries such as GPU; a value that is an error is raised. ``init`` may be one, too."""

    gpus: list[dict[str, Any]] = field(default_factory=lambda: [dict(GPU)])
    init: Exception | None = None
    NVMLError = pynvml.NVMLError
    NVML_TEMPERATURE_GPU = pynvml.NVML_TEMPERATURE_GPU
    NVML_CLOCK_SM = pynvml.NVML_CLOCK_SM

    def __getattr__(self, name: str) -> Any:
        if name.startswith("nvmlClocksThrottleReason"):
            return getattr(pynvml, name)
        raise AttributeError(name)

    def nvmlInit(self):  # noqa: N802
        if self.init:
            raise self.init

    def nvmlDeviceGetCount(self):  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        if not 0 <= index < len(self.gpus):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return self.gpus[index]

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        for gpu in self.gpus:
            if gpu["uuid"] == uuid:
                return gpu
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)

    def nvmlDeviceGetName(self, handle):  # noqa: N802
        return _value(handle["name"])

    def nvmlDeviceGetUUID(self, handle):  # noqa: N802
        return _value(handle["uuid"])

    def nvmlDeviceGetMigMode(self, device):  # noqa: N802
        return _value(device["mig"])

    def nvmlDeviceGetUtilizationRates(self, handle):  # noqa: N802
        return SimpleNamespace(gpu=_value(handle["utilisation"]), memory=40)

    def nvmlDeviceGetMemoryInfo(self, handle, version=None):  # noqa: ARG002, N802
        return SimpleNamespace(total=40 * 2**30, used=_value(handle["memory"]), free=0)

    def nvmlDeviceGetPowerUsage(self, handle):  # noqa: N802
        return _value(handle["milliwatts"])

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):  # noqa: N802
        return _value(handle["millijoules"])

    def nvmlDeviceGetTemperature(self, handle, sensor):  # noqa: ARG002, N802
        return _value(handle["celsius"])

    def nvmlDeviceGetClockInfo(self, handle, type):  # noqa: A002, ARG002, N802
        return _value(handle["mhz"])

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):  # noqa: N802
        return _value(handle["reasons"])

    def nvmlDeviceGetComputeRunningProcesses(self, handle):  # noqa: N802
        processes = _value(handle["processes"])
        return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in processes.items()]


def _value(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value
