"""Sources of measurement noise on this machine, read from the kernel's files, and what to do about each."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench.sampling.battery import is_on_battery
from pytest_dlbench.sampling.cores import usable_cores
from pytest_dlbench.sampling.nvml import NoGpuError, open_gpus
from pytest_dlbench.sampling.rapl import CannotRead, Rapl

# A lower load comes from the driver and the kernel themselves.
QUIET_LOAD = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One condition, its state, and what to do about it; no advice if it is as it should be."""

    topic: str
    state: str
    advice: str = ""


def findings(root: Path = Path("/")) -> tuple[Finding, ...]:
    """All conditions of this machine that can be read. ``root`` contains its /sys and /proc."""
    cpu, kernel = root / "sys/devices/system/cpu", root / "sys/kernel/mm"
    return tuple(
        found
        for found in (
            _virtual(root / "proc/cpuinfo"),
            _governor(cpu),
            _turbo(cpu),
            _siblings(cpu),
            _load(root / "proc/loadavg"),
            _stolen(root / "proc/stat"),
            _huge_pages(kernel / "transparent_hugepage/enabled"),
            _swap(root / "proc/swaps"),
            _quota(root / "sys/fs/cgroup"),
            _affinity(),
            Finding(topic="power supply", state="battery", advice="plug the machine in")
            if is_on_battery(root / "sys/class/power_supply")
            else None,
            _energy(root / "sys/class/powercap"),
            *_gpus(),
        )
        if found
    )


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _virtual(cpuinfo: Path) -> Finding | None:
    flags = re.search(r"^flags\s*:(.*)$", _text(cpuinfo), re.MULTILINE)
    if not flags:
        return None
    if "hypervisor" not in flags[1].split():
        return Finding(topic="virtual machine", state="no")
    advice = "others share its processors and caches: compare versions in one session, not with last week's results"
    return Finding(topic="virtual machine", state="yes", advice=advice)


def _governor(cpu: Path) -> Finding:
    names = sorted({_text(file) for file in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")})
    if not names:
        return Finding(topic="frequency governor", state="not reported (usual in virtual machines)")
    advice = "" if names == ["performance"] else "sudo cpupower frequency-set -g performance"
    return Finding(topic="frequency governor", state=", ".join(names), advice=advice)


def _turbo(cpu: Path) -> Finding:
    is_on = {"0": True, "1": False}.get(_text(cpu / "intel_pstate/no_turbo"))
    if is_on is None:
        is_on = {"1": True, "0": False}.get(_text(cpu / "cpufreq/boost"))
    if is_on is None:
        return Finding(topic="turbo", state="not reported")
    advice = "clock speed varies with heat and other cores' load; to compare, disable it in the firmware or with"
    files = "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo (Intel), echo 0 > …/cpufreq/boost (AMD)"
    return Finding(topic="turbo", state="on" if is_on else "off", advice=f"{advice} {files}" if is_on else "")


def _siblings(cpu: Path) -> Finding:
    is_on = _text(cpu / "smt/active") == "1"
    advice = "two threads share a core: set --dlbench-threads to the number of cores, or echo off > …/cpu/smt/control"
    return Finding(topic="SMT", state="on" if is_on else "off", advice=advice if is_on else "")


def _load(loadavg: Path) -> Finding | None:
    words = _text(loadavg).split()
    if not words:
        return None
    load, cores = float(words[0]), usable_cores()
    advice = "" if load < QUIET_LOAD * cores else "other processes are running: see top"
    return Finding(topic="load", state=f"{load:.2f} on {cores} cores", advice=advice)


def _stolen(stat: Path) -> Finding | None:
    words = _text(stat).partition("\n")[0].split()
    if len(words) < 9:
        return None
    share = int(words[8]) / max(1, sum(map(int, words[1:9])))
    advice = "" if share < 0.01 else "the virtual machine's host is oversubscribed: use another or a dedicated one"
    return Finding(topic="stolen time", state=f"{share:.2%} since boot", advice=advice)


def _huge_pages(enabled: Path) -> Finding | None:
    chosen = re.search(r"\[(\w+)\]", _text(enabled))
    if not chosen:
        return None
    advice = "whether large arrays get huge pages varies between runs: echo madvise > …/transparent_hugepage/enabled"
    return Finding(topic="huge pages", state=chosen[1], advice=advice if chosen[1] == "always" else "")


def _swap(swaps: Path) -> Finding | None:
    used = sum(int(line.split()[3]) for line in _text(swaps).splitlines()[1:])
    advice = "free memory, then: sudo swapoff -a && sudo swapon -a" if used else ""
    return Finding(topic="swap", state=f"{used // 1024} MiB used" if used else "none used", advice=advice)


def _quota(groups: Path) -> Finding:
    """The CPU limit of this container: cgroup v2 has it in one file, v1 in two."""
    quota, _, period = _text(groups / "cpu.max").partition(" ")
    if not quota:
        quota, period = (_text(groups / f"cpu/cpu.cfs_{name}_us") for name in ("quota", "period"))
    if quota in ("", "max", "-1"):
        return Finding(topic="container's CPU limit", state="none")
    cpus = int(quota) / int(period or 100_000)
    advice = f"more than {cpus:g} threads are paused for part of every 0.1 s: --dlbench-threads {max(1, int(cpus))}"
    return Finding(topic="container's CPU limit", state=f"{cpus:g} CPUs", advice=advice)


def _affinity() -> Finding:
    total, usable = os.cpu_count() or 1, usable_cores()
    return Finding(topic="cores", state=f"{usable} of {total} usable")


def _energy(zones: Path) -> Finding:
    try:
        Rapl(zones)
    except CannotRead as error:
        return Finding(topic="energy counters", state="absent", advice=str(error))
    return Finding(topic="energy counters", state="readable")


def _gpus() -> Iterator[Finding]:
    try:
        gpus = open_gpus()
    except NoGpuError as error:
        yield Finding(topic="GPUs", state=f"none: {error}")
        return
    for gpu in gpus:
        reading = gpu.read()
        users = len(reading.process_bytes or {})
        settings = (f"{name} {value}" for name, value in gpu.settings.items())
        state = ", ".join((gpu.name, *settings, f"{users} processes on it", *reading.slowed_by))
        advice = "nothing else may use a GPU while it is measured; nvidia-smi lists its processes" if users else ""
        yield Finding(topic=f"GPU {gpu.uuid}", state=state, advice=advice)
