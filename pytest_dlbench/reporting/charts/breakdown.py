"""The time of each phase of a step."""

from collections.abc import Sequence
from statistics import median

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.breakdowns import METRIC_OF
from pytest_dlbench.reporting.charts import phases
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "breakdown", "Phases of a step"
LEAD = (
    "Seconds of each phase of a step, medians over the runs, from steps after training that stopped between their"
    " phases; the number is their sum. Frameworks that compile phases together have fewer."
)
COLUMNS = {"case": "case", "phase": "phase", "order": "order", "seconds": "seconds"}
NAMES = tuple(phase.replace("_", " + ") for phase in METRIC_OF)


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """One bar per case, with the phases in order."""
    rows = []
    for number, case in enumerate(cases):
        for order, (name, metric) in enumerate(zip(NAMES, METRIC_OF.values(), strict=True)):
            if seconds := METRICS[metric].values(case.trained):
                rows.append((number, name, order, median(seconds)))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no step was divided (--dlbench-breakdown)")
    picture = phases.picture(NAMES)
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows), picture=picture, limit="case")
