"""Memory and CPUs in use during a run, by phase."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any

import altair as alt

from pytest_dlbench.judging.spans import evaluated_before, spans
from pytest_dlbench.records import Run, Timeline
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "timelines", "Memory and CPUs over time"
LEAD = "What the worker's processes used during a run, one line per run. The colour of a dot is the phase of the run."
PHASES = {
    "hello": "import",
    "build": "build",
    "load": "load",
    "train": "train",
    "infer": "infer",
    "evaluate": "evaluate",
}
BETWEEN = "between"
COLUMNS = {
    "case": "case",
    "series": "case and quantity",
    "run": "run",
    "seconds": "since the start of the run (s)",
    "value": "value",
    "phase": "phase",
}
POINTS = 60
MIB = 2**20


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Memory and CPUs of every sampled run; one case and quantity at a time."""
    rows = tuple(
        row
        for number, case in enumerate(cases)
        for kind, values in (("memory (MiB)", _memory), ("CPUs", _cpus))
        for run in case.finished
        for row in _rows(number, f"{case.label}: {kind}", run, values(run.timeline))
    )
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run has a timeline; older records have none")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(), choose="series")


def _memory(timeline: Timeline) -> Iterator[tuple[float, float]]:
    return ((seconds, used / MIB) for seconds, used in zip(timeline.seconds, timeline.rss_bytes, strict=False))


def _cpus(timeline: Timeline) -> Iterator[tuple[float, float]]:
    """The mean between two samples, at the later one."""
    for (then, before), (now, after) in pairwise(zip(timeline.seconds, timeline.cpu_seconds, strict=False)):
        if now > then:
            yield now, (after - before) / (now - then)


def _rows(number: int, series: str, run: Run, seen: Iterator[tuple[float, float]]) -> Iterator[Row]:
    points = list(seen)
    for seconds, value in points[:: max(1, -(-len(points) // POINTS))]:
        phase = _phase(run, seconds)
        yield (number, series, run.index + 1, float(f"{seconds:.4g}"), float(f"{value:.4g}"), phase)


def _phase(run: Run, seconds: float) -> str:
    if phase := _interrupted(run, seconds):
        return phase
    for operation, phase in PHASES.items():
        usage = run.usage.get(operation)
        began = usage.began_seconds if usage else None
        if usage and began is not None and began <= seconds <= began + usage.wall_seconds:
            return phase
    return BETWEEN


def _interrupted(run: Run, seconds: float) -> str:
    """Train or evaluate, if evaluations interrupt the steps; empty if none do, and before and after the steps."""
    if run.training is None or not run.training.resumed:
        return ""
    steps = spans(run.training)
    began = [usage.began_seconds or 0.0 for usage in run.usage.values()]
    if not steps[0][0] <= seconds < min((later for later in began if later > steps[-1][1]), default=inf):
        return ""
    following = bisect_right(steps, (seconds, inf))
    is_step = seconds <= steps[following - 1][1] or following not in evaluated_before(run)
    return "train" if is_step else "evaluate"


def _picture() -> Mapping[str, Any]:
    phases = alt.Scale(domain=[*PHASES.values(), BETWEEN])
    base = alt.Chart(look.ROWS).encode(
        x=alt.X("seconds:Q", title="seconds since the start of the run"),
        y=alt.Y("value:Q", title="memory (MiB) or CPUs"),
    )
    line = base.mark_line(strokeWidth=1.2, color="#8290a3").encode(detail="run:N")
    dots = base.mark_point(filled=True, size=32, opacity=0.9).encode(
        color=alt.Color("phase:N", title=None, scale=phases),
        tooltip=look.hint(("run:O", "run"), ("seconds:Q", "seconds"), ("value:Q", "value"), ("phase:N", "phase")),
    )
    return look.specification(alt.layer(line, dots), look.HEIGHT)
