"""Recorded cases in the formats of other programs: one file a format, one function each, and the table of them.

Every function takes what was recorded and gives the bytes of one file. The run is the unit: a value stands for one
fresh process, never for a step.
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
    """One row: what ``dlbench export`` calls it, and what makes it."""

    name: str
    write: Callable[[Sequence[Recorded]], bytes]
    help: str
    is_text: bool = True


FORMATS: Mapping[str, Format] = {
    row.name: row
    for row in (
        Format(name="json", write=document.write, help="Our own: everything, as --dlbench-json writes it."),
        Format(
            name="pytest-benchmark",
            write=pytest_benchmark.write,
            help="For pytest-benchmark compare: the step time, a round for each run.",
        ),
        Format(
            name="github-action-benchmark",
            write=github_action_benchmark.write,
            help="For its tool customSmallerIsBetter: step time, peak memory and test error.",
        ),
        Format(name="bencher", write=bencher.write, help="Bencher Metric Format: every metric of every case."),
        Format(name="csv", write=csv.write, help="One row a run, every metric a column."),
        Format(name="parquet", write=parquet.write, help="The same rows for pandas and others.", is_text=False),
        Format(name="mllog", write=mllog.write, help="Lines of :::MLLOG, as the results of MLPerf training are told."),
    )
}
