"""github-action-benchmark's format for custom figures, its tool ``customSmallerIsBetter``.

In one file smaller is always better: accuracy becomes the test error, and throughput is omitted, as step time has it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_dlbench import judging
from pytest_dlbench.reporting import foreign
from pytest_dlbench.storing.recorded import Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    title: str
    unit: str
    convert: Callable[[float], float]


SERIES: Mapping[str, _Series] = {
    "step_time": _Series(title="step time", unit="ms", convert=lambda seconds: 1e3 * seconds),
    "latency": _Series(title="latency of a batch", unit="ms", convert=lambda seconds: 1e3 * seconds),
    "peak_rss": _Series(title="peak memory", unit="MiB", convert=lambda count: count / 2**20),
    "accuracy": _Series(title="test error", unit="%", convert=lambda share: 100 * (1 - share)),
}


def write(recorded: Sequence[Recorded]) -> bytes:
    """A list of figures; ``range`` is half the distance between the extreme runs. Unfinished cases have none."""
    return foreign.json_file([entry for case in recorded for entry in _entries(case)])


def _entries(recorded: Recorded) -> list[dict[str, str | float]]:
    by_run = [found for run in recorded.record.runs if (found := judging.summarise([run]))]
    case, machine = recorded.record.case, recorded.record.context.machine
    invalid = sum(bool(run.invalid) for run in recorded.record.runs)
    remark = f", {invalid} of them invalid" if invalid else ""
    entries: list[dict[str, str | float]] = []
    for name, series in SERIES.items():
        values = [series.convert(found[name]) for found in by_run if name in found]
        if values and name in recorded.result.figures:
            entries.append(
                {
                    "name": foreign.line(f"{case.id}: {series.title}"),
                    "unit": series.unit,
                    "value": series.convert(recorded.result.figures[name]),
                    "range": f"± {(max(values) - min(values)) / 2:.3g}",
                    "extra": foreign.line(f"{len(values)} runs on {machine.name}{remark}, {recorded.result.outcome}"),
                }
            )
    return entries
