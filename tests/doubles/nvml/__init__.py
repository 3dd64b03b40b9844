"""NVIDIA's driver without a GPU: a library with NVML's ABI, compiled from nvml.c, for the real pynvml to load.

glibc reads LD_LIBRARY_PATH only when a process starts: everything that queries GPUs runs in a process of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
A100: Mapping[str, Any] = {
    "uuid": "GPU-5f3c",
    "name": "NVIDIA A100-SXM4-40GB",
    "bus": "00000000:07:00.0",
    "capability": "8.0",
    "total": 40 * 2**30,
    "memory": 10 * 2**30,
    "utilisation": 90,
    "milliwatts": 300_000,
    "millijoules": 5_000_000,
    "celsius": 61,
    "mhz": 1410,
    "reasons": 0,
    "processes": "-",
    "persistence": 1,
    "limit": 400_000,
    "ecc": 1,
    "pcie_generation": 4,
    "pcie_lanes": 16,
    "mig": "error:3",
}
T4: Mapping[str, Any] = {**A100, "uuid": "GPU-7aa1", "name": "Tesla T4", "capability": "7.5", "total": 15 * 2**30}
# What a slice of a sliced GPU reports of itself.
SLICE: Mapping[str, Any] = {
    "uuid": "MIG-b",
    "name": "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    "capability": "8.0",
    "total": 5 * 2**30,
    "memory": 2**30,
    "processes": "-",
}
IMPORTS = """
import json, os, sys, time
from dataclasses import asdict
from pytest_dlbench.sampling.gpu import GpuSampler
from pytest_dlbench.sampling.nvml import NoGpuError, open_gpus
"""


def library(folder: Path, *, without: str = "") -> Path:
    """Compile the library into a folder, without one of its functions, as in an old driver."""
    folder.mkdir(parents=True, exist_ok=True)
    renamed = [f"-D{without}=not_exported"] if without else []
    source = Path(__file__).with_name("nvml.c")
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", *renamed]
    subprocess.run([*command, "-o", folder / LIBRARY, source, "-ldl"], check=True)
    return folder / LIBRARY


@dataclass(frozen=True)
class Nvml:
    """A driver in a folder. ``write`` describes its GPUs, also while a process uses them."""

    folder: Path

    def write(self, *gpus: Mapping[str, Any], **driver: Any) -> None:
        """GPUs such as A100, in PCI order. A value may be a dictionary of values by the moment from which they hold.

        Moments are numbers of readings, or seconds since NVML was initialised with ``clock="seconds"``.
        """
        own = {"driver": "550.54.14", "cuda": 12040, "clock": "readings", **driver}
        lines = [
            f"{index} {key} {moment} {value}"
            for index, values in ((-1, own), *enumerate(gpus))
            for key, given in values.items()
            for moment, value in (given if isinstance(given, dict) else {0: given}).items()
        ]
        # Replaced at once: the library may be reading it.
        new = self.folder / "nvml.new"
        new.write_text("".join(f"{line}\n" for line in lines))
        new.replace(self.folder / "nvml.txt")

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a process that finds this driver, and may use all of its GPUs."""
        path = f"{self.folder}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}"
        return {**{k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}, "LD_LIBRARY_PATH": path}

    def answer(self, program: str, *arguments: Any, **variables: str) -> Any:
        """What a program in a new process assigns to ``answer``, or the message of a NoGpuError."""
        indented = "".join(f"    {line}\n" for line in program.strip().splitlines())
        text = f"{IMPORTS}given = json.loads(sys.argv[1])\ntry:\n{indented}"
        text += "except NoGpuError as error:\n    answer = str(error)\nprint(json.dumps(answer))"
        command = [sys.executable, "-c", text, json.dumps(arguments)]
        done = subprocess.run(
            command, env={**self.variables, **variables}, stdout=subprocess.PIPE, text=True, check=True, timeout=60
        )
        return json.loads(done.stdout)
