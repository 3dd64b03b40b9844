"""Test accuracy, run by run."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import altair as alt

from pytest_dlbench.judging import METRICS
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "accuracy", "Accuracy"
LEAD = (
    "Accuracy on the test split after training, or after its best epoch where the recipe says so: one dot per run, the"
    " tick is the mean. If the scale ends the training before the recipe does, it is not the accuracy of the recipe."
)
COLUMNS = {
    "case": "case",
    "run": "run",
    "accuracy": "accuracy (%)",
    "mean": "mean (%)",
    "loss": "test loss",
    "steps": "steps trained",
    "recipe_steps": "steps of the recipe",
}
ACCURACY = METRICS["accuracy"]


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Every finished run."""
    rows = []
    for number, case in enumerate(cases):
        runs = [run for run in case.trained if ACCURACY.read(run) is not None]
        values = [100 * ACCURACY.figure(run) for run in runs]
        for run, value in zip(runs, values, strict=True):
            loss = run.evaluation.loss if run.evaluation else None
            # Fewer than planned where a validation split ended the training.
            steps = len(run.training.step_seconds) if run.training else case.result.steps
            rows.append((number, run.index + 1, value, fmean(values), loss, steps, case.result.recipe_steps))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run finished training and evaluation")
    picture = _picture(cases)
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows), picture=picture, limit="case")


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS).encode(y=look.label("case"), color=look.framework_of_row(cases))
    scale = look.share()
    dots = base.mark_point(filled=True, size=45, opacity=0.65).encode(
        x=alt.X("accuracy:Q", title="accuracy (%)", scale=scale),
        tooltip=look.hint(
            ("case:N", "case"), ("run:O", "run"), ("accuracy:Q", "accuracy (%)"), ("loss:Q", "test loss")
        ),
    )
    mean = base.mark_tick(thickness=2.5, size=14).encode(x=alt.X("mean:Q", title="accuracy (%)", scale=scale))
    return look.specification(alt.layer(dots, mean), alt.Step(look.NARROW_ROW))
