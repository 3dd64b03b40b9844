"""Recorded cases in the formats of other programs: one module with one function per format, and the table of them.

Every function takes recorded cases and returns the bytes of one file. The unit is the run: a value stands for one fresh
process, never for a step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_dlbench.reporting.exports import (
    bencher,
    csv,
    document,
    github_action_benchmark,
    mllog,
    parquet,
    pytest_benchmark,
)
from pytest_dlbench.storing.recorded import Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format: its name for ``dlbench export``, and the function that writes it."""

    name: str
    write: Callable[[Sequence[Recorded]], bytes]
    help: str
    is_text: bool = True


FORMATS: Mapping[str, Format] = {
    row.name: row
    for row in (
        Format(name="json", write=document.write, help="Our own format, with everything, as --dlbench-json writes it."),
        Format(
            name="pytest-benchmark",
            write=pytest_benchmark.write,
            help="For pytest-benchmark compare: the step time, one round per run.",
        ),
        Format(
            name="github-action-benchmark",
            write=github_action_benchmark.write,
            help="For the tool customSmallerIsBetter: step time, peak memory and test error.",
        ),
        Format(name="bencher", write=bencher.write, help="Bencher Metric Format: every metric of every case."),
        Format(name="csv", write=csv.write, help="One row per run, one column per metric."),
        Format(name="parquet", write=parquet.write, help="The same rows for pandas and others.", is_text=False),
        Format(name="mllog", write=mllog.write, help="Lines of :::MLLOG, the log format of MLPerf training."),
    )
}
