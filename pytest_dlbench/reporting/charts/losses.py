"""Training loss against time."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import isfinite
from typing import Any

import altair as alt

from pytest_dlbench.records import Run
from pytest_dlbench.reporting.charts import curves, look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured
from pytest_dlbench.reporting.charts.thinning import thinned

NAME, TITLE = "losses", "Loss against seconds"
LEAD = (
    "The training loss before each update against the seconds trained so far, all frameworks of one cell: one line per"
    " run, or for many frameworks the band of the runs of each before the medians of the others. Shorter lines are"
    " faster frameworks; lines that differ at the same step learn differently."
)
COLUMNS = {"case": "case", "run": "run", "step": "step", "seconds": "trained (s)", "loss": "loss"}
POINTS = 60


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """The losses of every finished run; one cell at a time."""
    rows = tuple(row for number, case in enumerate(cases) for run in case.trained for row in _rows(number, run))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run finished training")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(cases), choose="cell")


def _rows(number: int, run: Run) -> Iterator[Row]:
    if run.training:
        ends = list(accumulate(run.training.step_seconds))
        for step, loss in thinned(run.training.losses, POINTS):
            if isfinite(loss):
                yield (number, run.index + 1, step + 1, float(f"{ends[step]:.5g}"), float(f"{loss:.5g}"))


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    across, up = ("seconds", "seconds trained"), ("loss", "loss")
    scale = alt.Scale(zero=False)
    if curves.is_crowded(cases):
        # Two dozen frameworks differ in speed by far more than a linear axis can show.
        return curves.apart(cases, (*across, alt.Scale(type="log", nice=False)), (*up, scale))
    hint = look.hint(
        ("case:N", "case"), ("run:N", "run"), ("step:Q", "step"), ("seconds:Q", "seconds"), ("loss:Q", "loss")
    )
    x, y = alt.X("seconds:Q", title=across[1]), alt.Y("loss:Q", title=up[1], scale=scale)
    lines, _ = curves.together(cases, x, y, hint)
    return look.specification(lines.encode(tooltip=hint), look.HEIGHT)
