"""``python -m tests.gpu.seen FOLDER``: installed versions, and what runs recorded of GPUs, as Markdown."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from pytest_dlbench.records import GpuUsage, Run
from pytest_dlbench.reporting import problems
from pytest_dlbench.storing import Entry, read_journal

# Packages that compute on a GPU or query it.
PACKAGES = re.compile(r"torch|jax|jaxlib|jax-cuda.*|cupy.*|nvidia[-_]ml[-_]py|numpy", re.IGNORECASE)
HEADINGS = ("case", "use", "memory", "power", "energy", "heat", "clock", "slowed by", "not reported")


def rows(runs: Iterator[Run]) -> Iterator[tuple[str, ...]]:
    """One row per GPU of each run; a run without one says why."""
    for run in runs:
        gpus = run.usage["train"].gpus if "train" in run.usage else ()
        if not gpus:
            yield (run.case, *"–" * 7, run.absent.get("gpu", f"{run.outcome}: {problems.first_line(run)}"))
        for gpu in gpus:
            yield (run.case, *_cells(gpu))


def versions() -> str:
    """The relevant packages as ``name==version``, however they were installed."""
    found = {f"{package.name}=={package.version}" for package in distributions() if PACKAGES.fullmatch(package.name)}
    return " ".join(sorted(found, key=str.lower))


def _cells(gpu: GpuUsage) -> tuple[str, ...]:
    def shown(value: float | None, unit: str, factor: float = 1.0) -> str:
        return "–" if value is None else f"{value * factor:,.0f} {unit}"

    return (
        shown(gpu.utilisation, "%", 100),
        shown(gpu.memory_peak_bytes, "MiB", 2**-20),
        shown(gpu.power_mean_watts, "W"),
        shown(gpu.energy_joules, f"J ({gpu.energy_source})"),
        shown(gpu.temperature_peak_celsius, "°C"),
        shown(gpu.sm_clock_mean_mhz, "MHz"),
        ", ".join(gpu.slowed_by) or "nothing",
        "; ".join(f"{what}: {why}" for what, why in gpu.absent.items()) or "nothing",
    )


def main(folder: Path) -> None:
    """Print a line of versions, and the table."""
    print(f"- versions: {versions()}\n")
    entries = (entry for path in sorted(folder.glob("*.jsonl")) for entry in read_journal(path))
    runs = (entry.run for entry in entries if isinstance(entry, Entry) and entry.run)
    for cells in (HEADINGS, ("---",) * len(HEADINGS), *rows(runs)):
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
