"""How much faster more data-parallel workers are."""

from collections.abc import Sequence

from pytest_dlbench.reporting.charts import speedup
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "workers", "Scaling with workers"
LEAD = (
    "Samples per second over those of the fewest workers of the same framework and session, one dot per run."
    " The dashed line is perfect scaling."
)


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Speed-up against the number of workers; one workload at a time."""
    rows = speedup.rows(cases, lambda case: case.case.workers, lambda case: case.training)
    if not rows:
        because = "no framework trained the same cell with different numbers of workers; --dlbench-workers 1,2 does"
        return Nothing(name=NAME, title=TITLE, because=because)
    picture = speedup.picture(cases, "workers", [case.case.workers for case in cases])
    columns = speedup.columns("workers")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=columns, rows=rows, picture=picture, choose="workload")
