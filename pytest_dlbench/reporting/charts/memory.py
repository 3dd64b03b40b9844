"""Peak memory in each phase of a run."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "memory", "Memory"
LEAD = (
    "Peak resident memory of the worker's processes in each phase, medians over the runs. The import phase is what the"
    " framework alone takes; the rightmost dot is what a machine must have."
)
# By the worker's operations.
PHASES = {
    "hello": "import",
    "build": "build",
    "load": "load",
    "train": "train",
    "infer": "infer",
    "validate": "validate",
    "evaluate": "evaluate",
}
COLUMNS = {"case": "case", "phase": "phase", "peak": "peak (MiB)", "mean": "mean (MiB)"}
MIB = 2**20


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """One row per case, one dot per phase."""
    rows = []
    for number, case in enumerate(cases):
        for operation, phase in PHASES.items():
            if used := [run.usage[operation] for run in case.finished if operation in run.usage]:
                peak = median(usage.rss_peak_bytes for usage in used) / MIB
                rows.append((number, phase, peak, median(usage.rss_mean_bytes for usage in used) / MIB))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run recorded its memory")
    phases = [phase for phase in PHASES.values() if any(row[1] == phase for row in rows)]
    return Chart(
        name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows), picture=_picture(phases), limit="case"
    )


def _picture(phases: Sequence[str]) -> Mapping[str, Any]:
    domain = alt.Scale(domain=list(phases))
    base = alt.Chart(look.ROWS).encode(y=look.label("case"))
    scale = alt.Scale(zero=False, padding=12)
    span = base.mark_rule(color="#8290a3", opacity=0.5).encode(
        x=alt.X("min(peak):Q", title="peak resident memory (MiB)", scale=scale), x2="max(peak):Q"
    )
    dots = base.mark_point(filled=True, size=55, opacity=0.9).encode(
        x=alt.X("peak:Q", title="peak resident memory (MiB)", scale=scale),
        color=alt.Color("phase:N", title=None, scale=domain),
        shape=alt.Shape("phase:N", title=None, scale=domain),
        tooltip=look.hint(("case:N", "case"), ("phase:N", "phase"), ("peak:Q", "peak (MiB)"), ("mean:Q", "mean (MiB)")),
    )
    return look.specification(alt.layer(span, dots), alt.Step(look.NARROW_ROW))
