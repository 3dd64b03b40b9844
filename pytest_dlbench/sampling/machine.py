"""The machine class that this process runs on."""

import platform
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path

import psutil

from pytest_dlbench.records import Machine
from pytest_dlbench.sampling.cores import usable_cores


@lru_cache
def this_machine(gpus: tuple[str, ...] | None = None, gpu_driver: str = "") -> Machine:
    """Processor model, usable cores, memory, operating system family and GPUs of this machine.

    ``gpus`` are the kinds of those that the session may use, None for the models that the kernel lists.
    """
    cpu_model, cores, os_family = _cpu_model(), usable_cores(), platform.system().lower()
    memory_gib = rounded_memory_gib(psutil.virtual_memory().total)
    gpus = gpu_models() if gpus is None else gpus
    shown = [f"{count}x {model}" for model, count in sorted(Counter(gpus).items())]
    driver = (f"driver {gpu_driver}",) if gpu_driver else ()
    name = _slug(" ".join((f"{os_family} {cpu_model} {cores}cores {memory_gib:g}gib", *shown, *driver)))
    return Machine(
        name=name,
        cpu_model=cpu_model,
        cores=cores,
        memory_gib=memory_gib,
        os_family=os_family,
        gpus=gpus,
        gpu_driver=gpu_driver,
    )


def gpu_models(root: Path = Path("/proc/driver/nvidia/gpus")) -> tuple[str, ...]:
    """Models of the NVIDIA GPUs, as their kernel driver reports them; empty where there is none."""
    texts = (file.read_text("utf-8", "replace") for file in sorted(root.glob("*/information")))
    found = (re.search(r"^Model:\s*(.+)$", text, re.MULTILINE) for text in texts)
    return tuple(match[1].strip() for match in found if match)


def rounded_memory_gib(total_bytes: int) -> float:
    """The nearest of 1, 1.5, 2, 3, 4, 6, 8, 12 … GiB: a kernel reports slightly less than is installed."""
    gib = total_bytes / 2**30
    sizes = [base * 2.0**power for power in range(16) for base in (1, 1.5)]
    return min(sizes, key=lambda size: abs(size - gib) / size)


def _cpu_model() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8", "replace"), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _slug(text: str) -> str:
    text = re.sub(r"\((r|tm)\)", "", text.lower())
    return re.sub(r"[^a-z0-9.]+", "-", text).strip("-")
