"""How much faster more data-parallel workers are."""

from collections.abc import Sequence
from statistics import median
from typing import Any, cast

from pytest_dlbench.reporting.charts import speedup
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured
from pytest_dlbench.reporting.published.scaling import scaled, sentences
from pytest_dlbench.reporting.published.studies import studies

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
    columns, notes = speedup.columns("workers"), _published(cases)
    return Chart(
        name=NAME, title=TITLE, lead=LEAD, columns=columns, rows=rows, notes=notes, picture=picture, choose="workload"
    )


def gains(cases: Sequence[Measured]) -> dict[tuple[str, str, int], float]:
    """The median speed-up of each framework, model and number of workers, over one worker of the same session."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for row in speedup.rows(cases, lambda case: case.case.workers, lambda case: case.training):
        number, _, workers, gain, ideal = (cast("Any", value) for value in row[:5])
        if workers == ideal:
            found.setdefault((cases[number].case.framework, cases[number].case.model, workers), []).append(gain)
    return {key: median(several) for key, several in found.items()}


def _published(cases: Sequence[Measured]) -> tuple[str, ...]:
    """What studies printed of the networks that several workers trained."""
    models = {case.case.model for case in cases if case.case.workers > 1}
    found = [one for name in studies() for one in scaled(name) if one.model in models]
    return tuple(sentences(found))
