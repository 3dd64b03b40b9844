"""Speed-up against a number of threads or of workers: rows and picture, without a chart of its own."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from pytest_dlbench.judging.frameworks import of_runs
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Row
from pytest_dlbench.reporting.charts.frameworks import judged_metric, step_seconds
from pytest_dlbench.reporting.charts.measured import Measured


def columns(name: str) -> Mapping[str, str]:
    """The columns of the rows; ``name`` is what is counted."""
    return {
        "case": "case",
        "workload": "workload",
        name: name,
        "speedup": "speed-up",
        "ideal": "perfect scaling",
        "efficiency": "efficiency (%)",
        "step_ms": "step, 10 % quantile (ms)",
        "run": "run",
    }


def rows(
    cases: Sequence[Measured], count: Callable[[Measured], int], workload: Callable[[Measured], str]
) -> tuple[Row, ...]:
    """Each run against the fewest of the same framework and session, by samples per second."""
    found: dict[tuple[str, ...], list[tuple[int, Measured]]] = {}
    for number, case in enumerate(cases):
        if case.sound:
            found.setdefault((case.session, workload(case), case.case.framework), []).append((number, case))
    return tuple(row for group in found.values() for row in _rows(group, count, workload))


def _rows(
    group: Sequence[tuple[int, Measured]], count: Callable[[Measured], int], workload: Callable[[Measured], str]
) -> list[Row]:
    ordered = sorted(group, key=lambda pair: count(pair[1]))
    fewest = ordered[0][1]
    if count(fewest) == count(ordered[-1][1]):
        return []
    base = median(step_seconds(fewest)) / _batch(fewest)
    return [
        (number, workload(case), count(case), speedup, ideal, 100 * speedup / ideal, 1e3 * seconds, run)
        for number, case in ordered
        for run, seconds in enumerate(step_seconds(case), start=1)
        for speedup, ideal in ((base / (seconds / _batch(case)), count(case) / count(fewest)),)
    ]


def gain(case: Measured, fewest: Measured) -> Interval:
    """The speed-up of a case over the fewest, with its 90 % interval from the runs of both."""
    before, after = ([value / _batch(one) for value in step_seconds(one)] for one in (fewest, case))
    return of_runs(judged_metric(case), before, after)


def _batch(case: Measured) -> int:
    """With weak scaling more workers have a larger batch. A program need not know its own."""
    return case.context.batch_size or 1


def picture(cases: Sequence[Measured], name: str, counts: Sequence[int]) -> Mapping[str, Any]:
    """Speed-up, its median as a line and a dot for each run, with the line of perfect scaling."""
    base = alt.Chart(look.ROWS)
    # Threads and workers are whole numbers.
    axis = alt.Axis(values=sorted(set(counts)), format="d")
    x = alt.X(f"{name}:Q", title=name, axis=axis, scale=alt.Scale(type="log", base=2, nice=False, padding=20))
    y = alt.Y("speedup:Q", title="speed-up", scale=alt.Scale(type="log", base=2, nice=False, padding=20))
    ideal = base.mark_line(strokeDash=[5, 4], color="#8290a3").encode(
        x=x, y=alt.Y("ideal:Q", title="speed-up", aggregate="mean")
    )
    line = base.mark_line(strokeWidth=1.8).encode(
        x=x, y=alt.Y("speedup:Q", aggregate="median", title="speed-up"), color=look.framework(cases)
    )
    hints = (
        ("case:N", "case"),
        ("run:O", "run"),
        ("speedup:Q", "speed-up"),
        ("efficiency:Q", "%"),
        ("step_ms:Q", "ms"),
    )
    dots = base.mark_point(filled=True, size=45).encode(
        x=x, y=y, color=look.framework(cases), tooltip=look.hint(*hints)
    )
    return look.specification(alt.layer(ideal, line, dots), look.HEIGHT)
