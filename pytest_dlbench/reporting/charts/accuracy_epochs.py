"""Test accuracy against epochs."""

from collections.abc import Sequence

import altair as alt

from pytest_dlbench.reporting.charts.accuracy_time import COLUMNS, drawn, row
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "accuracy-epochs", "Accuracy against epochs"
LEAD = (
    "Test accuracy at every evaluation against the passes over the training data, one cell at a time: one line per run,"
    " or for many frameworks the band of the runs of each before the medians of the others. Frameworks that train the"
    " same network should agree, however long each takes."
)


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Every run that was evaluated more than once; one cell at a time."""
    rows = tuple(
        row(number, run, point)
        for number, case in enumerate(cases)
        for run in case.trained
        for point in (run.curve if len(run.curve) > 1 else ())
    )
    if not rows:
        because = "no run was evaluated more than once; recipes of several epochs evaluate after each"
        return Nothing(name=NAME, title=TITLE, because=because)
    picture = drawn(cases, "epoch", "epochs", alt.Scale(nice=False, padding=20))
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=picture, choose="cell")
