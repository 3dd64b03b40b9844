"""NVML without a GPU: functions with the real module's signatures and errors, and given results."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml

CARD = {
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
    """``cards`` are dictionaries such as ``CARD``; a value that is an error is raised. ``init`` may be one, too."""

    cards: list[dict[str, Any]] = field(default_factory=lambda: [dict(CARD)])
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
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        if not 0 <= index < len(self.cards):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return self.cards[index]

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        for card in self.cards:
            if card["uuid"] == uuid:
                return card
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)

    def nvmlDeviceGetName(self, handle):  # noqa: N802
        return _value_or_raise(handle["name"])

    def nvmlDeviceGetUUID(self, handle):  # noqa: N802
        return _value_or_raise(handle["uuid"])

    def nvmlDeviceGetMigMode(self, device):  # noqa: N802
        return _value_or_raise(device["mig"])

    def nvmlDeviceGetUtilizationRates(self, handle):  # noqa: N802
        return SimpleNamespace(gpu=_value_or_raise(handle["utilisation"]), memory=40)

    def nvmlDeviceGetMemoryInfo(self, handle, version=None):  # noqa: ARG002, N802
        return SimpleNamespace(total=40 * 2**30, used=_value_or_raise(handle["memory"]), free=0)

    def nvmlDeviceGetPowerUsage(self, handle):  # noqa: N802
        return _value_or_raise(handle["milliwatts"])

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):  # noqa: N802
        return _value_or_raise(handle["millijoules"])

    def nvmlDeviceGetTemperature(self, handle, sensor):  # noqa: ARG002, N802
        return _value_or_raise(handle["celsius"])

    def nvmlDeviceGetClockInfo(self, handle, type):  # noqa: A002, ARG002, N802
        return _value_or_raise(handle["mhz"])

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):  # noqa: N802
        return _value_or_raise(handle["reasons"])

    def nvmlDeviceGetComputeRunningProcesses(self, handle):  # noqa: N802
        processes = _value_or_raise(handle["processes"])
        return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in processes.items()]


def _value_or_raise(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value
