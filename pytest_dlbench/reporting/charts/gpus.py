"""Utilisation, memory, power and temperature of GPUs during training or inference."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.judging.readings import phase
from pytest_dlbench.records import GpuUsage, Run
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

# The names of the chart and of its columns are part of addresses and downloads.
NAME, TITLE = "cards", "GPUs"
LEAD = (
    "Each GPU of each run during training or inference, one figure at a time. Utilisation is the share of time in which"
    " any kernel ran, not the share of the GPU that was busy."
)
COLUMNS = {"case": "case", "figure": "figure", "card": "GPU", "run": "run", "value": "value"}
MIB = 2**20


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Every figure that a GPU reported; one at a time."""
    rows = tuple(row for number, case in enumerate(cases) for run in case.finished for row in _rows(number, run))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run recorded a GPU")
    return Chart(
        name=NAME,
        title=TITLE,
        lead=LEAD,
        columns=COLUMNS,
        rows=rows,
        picture=_picture(cases),
        choose="figure",
        limit="case",
    )


def _rows(number: int, run: Run) -> Iterator[Row]:
    for gpu in phase(run).gpus:
        for figure, value in _figures(gpu):
            if value is not None:
                yield (number, figure, gpu.name, run.index + 1, value)


def _figures(gpu: GpuUsage) -> Iterator[tuple[str, float | None]]:
    yield "utilisation (%)", None if gpu.utilisation is None else 100 * gpu.utilisation
    yield "peak memory (MiB)", None if gpu.memory_peak_bytes is None else gpu.memory_peak_bytes / MIB
    yield "mean power (W)", gpu.power_mean_watts
    yield "energy (J)", gpu.energy_joules
    yield "peak temperature (°C)", gpu.temperature_peak_celsius
    yield "mean clock (MHz)", gpu.sm_clock_mean_mhz


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    dots = (
        alt.Chart(look.ROWS)
        .mark_point(filled=True, size=50, opacity=0.8)
        .encode(
            y=look.label("case"),
            x=alt.X("value:Q", title="value", scale=alt.Scale(zero=False, padding=12)),
            color=look.framework_of_row(cases),
            shape=alt.Shape("card:N", title=None),
            tooltip=look.hint(("case:N", "case"), ("card:N", "GPU"), ("run:O", "run"), ("value:Q", "value")),
        )
    )
    return look.specification(dots, alt.Step(look.NARROW_ROW))
