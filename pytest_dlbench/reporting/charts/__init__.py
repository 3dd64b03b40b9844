"""The charts of a report: one module per chart, each with a function ``chart``.

``chart(cases)`` takes all judged cases of a report and returns a Chart, a Table, or Nothing with the reason. A new
chart is a new module and a row below; page, pictures and downloads use the table. These modules need Altair: code that
must load without it imports none of them.
"""

from collections.abc import Callable

from pytest_dlbench.reporting.charts import (
    accuracy,
    accuracy_epochs,
    accuracy_time,
    breakdown,
    changes,
    devices,
    environments,
    frameworks,
    gpus,
    history,
    latencies,
    layers,
    losses,
    machines,
    memory,
    pareto,
    phases,
    published,
    ranks,
    roofline,
    searches,
    step_series,
    step_times,
    sweeps,
    threads,
    timelines,
    utilisation,
    workers,
)
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Table
from pytest_dlbench.reporting.charts.measured import Measured

Draw = Callable[..., Chart | Table | Nothing]

CHARTS: tuple[Draw, ...] = (
    changes.chart,
    history.chart,
    frameworks.chart,
    ranks.chart,
    step_times.chart,
    step_series.chart,
    latencies.chart,
    accuracy.chart,
    accuracy_epochs.chart,
    accuracy_time.chart,
    pareto.chart,
    losses.chart,
    phases.chart,
    breakdown.chart,
    layers.chart,
    memory.chart,
    timelines.chart,
    gpus.chart,
    utilisation.chart,
    roofline.chart,
    threads.chart,
    workers.chart,
    devices.chart,
    sweeps.chart,
    searches.chart,
    published.chart,
    environments.chart,
    machines.chart,
)
"""In the order of the page."""

__all__ = ["CHARTS", "Chart", "Measured", "Nothing", "Table"]
