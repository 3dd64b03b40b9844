"""How much faster more threads are."""

from collections.abc import Sequence

from pytest_dlbench.reporting.charts import speedup
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "threads", "Scaling with threads"
LEAD = (
    "Speed-up over the fewest threads of the same framework and session, one dot per run."
    " The dashed line is perfect scaling."
)


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Speed-up against the number of threads; one workload at a time."""
    rows = speedup.rows(cases, lambda case: case.case.threads, lambda case: case.workload)
    if not rows:
        because = "no framework trained the same cell with different numbers of threads; --dlbench-threads 1,2,4 does"
        return Nothing(name=NAME, title=TITLE, because=because)
    picture = speedup.picture(cases, "threads", [case.case.threads for case in cases])
    columns = speedup.columns("threads")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=columns, rows=rows, picture=picture, choose="workload")
