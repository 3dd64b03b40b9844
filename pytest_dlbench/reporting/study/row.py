"""The smallest whole row of the study that a reader can repeat, and where the figures of its repetition should be."""

from collections.abc import Iterator, Sequence
from statistics import fmean, median

import numpy as np

from pytest_dlbench.judging import METRICS, Metric
from pytest_dlbench.judging.accuracy import ALPHA
from pytest_dlbench.judging.intervals import expected_interval
from pytest_dlbench.judging.scales import smallest_spread
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.charts import Measured, frameworks
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.study.document import Commands, Lacking, Paragraph, Section, Table

TITLE = "A row to repeat"
FRAMEWORKS = ("pytorch", "jax")
# Model, data set, scale and device, which the command selects.
ROW = ("tartu-mnist-cnn", "fashion-mnist", "full", "cpu")
SESSION = (
    'pytest bench -m "tartu and cnn" --dlbench-datasets fashion-mnist --dlbench-scale full'
    f" --dlbench-frameworks {','.join(FRAMEWORKS)}"
)
COMMANDS = ('pip install "pytest-dlbench[bench]"', "dlbench data fetch fashion-mnist", SESSION)
# As many as --dlbench-runs has by default.
RUNS = 3
LEAD = (
    "The whole recipe of one network on real images. What it reaches does not depend on the machine: in 95 of 100"
    f" repetitions, the mean of {RUNS} runs elsewhere should be within the last column. The session judges this, too,"
    " by the suite's portable baselines of both cases. Times are those of this machine."
)


def section(cases: Sequence[Measured]) -> Section | Lacking:
    """The commands, and a table of both frameworks."""
    found = _newest(cases)
    if not found:
        because = f"{' and '.join(FRAMEWORKS)} did not train {ROW[0]} on {ROW[1]} at scale {ROW[2]}"
        return Lacking(title=TITLE, because=because, command=SESSION)
    headings = ("framework", "metric", "runs", "mean, from – to", f"mean of {RUNS} other runs")
    rows = tuple(_row(case, metric) for case in found for metric in _metrics() if _values(case, metric))
    table = Table(caption=found[0].cell, headings=headings, rows=rows, texts=2)
    return Section(
        title=TITLE, blocks=(Paragraph(text=LEAD, items=tuple(_times(found))), Commands(lines=COMMANDS), table)
    )


def _newest(cases: Sequence[Measured]) -> Sequence[Measured]:
    """The row with the most threads, which is the default, of the newest session; empty if there is none."""
    of_cells: dict[str, list[Measured]] = {}
    for case in sorted(filter(_is_of_row, cases), key=lambda one: (one.case.threads, one.session)):
        of_cells.setdefault(case.cell, []).append(case)
    rows = [found for found in of_cells.values() if {case.case.framework for case in found} >= {*FRAMEWORKS}]
    of_names = [case for case in rows[-1] if case.case.framework in FRAMEWORKS] if rows else []
    return sorted(of_names, key=lambda case: FRAMEWORKS.index(case.case.framework))


def _is_of_row(case: Measured) -> bool:
    one = case.case
    return (one.model, one.dataset, one.scale, one.device) == ROW and not one.settings and one.workers == 1


def _metrics() -> Iterator[Metric]:
    """What is the same on every machine except for rounding."""
    return (metric for metric in METRICS.values() if metric.is_portable and metric.kind == "points")


def _values(case: Measured, metric: Metric) -> list[float]:
    return [100 * value for value in metric.values(case.sound)]


def _row(case: Measured, metric: Metric) -> tuple[str, ...]:
    values = _values(case, metric)
    mean = fmean(values)
    expected = expected_interval(
        np.array(values),
        RUNS,
        run_sd=metric.run_sd,
        session_sd=0.0,
        smallest_sd=smallest_spread(metric),
        is_robust=False,
        alpha=ALPHA,
    )
    within = (mean - expected.half_width, mean + expected.half_width)
    return (
        case.case.framework,
        metric.heading,
        f"{len(values):,}",
        f"{mean:.2f} % [{min(values):.2f}, {max(values):.2f}]",
        f"{within[0]:.2f} to {within[1]:.2f} %",
    )


def _times(found: Sequence[Measured]) -> Iterator[str]:
    """How long a run takes, and how the step times compare on this machine."""
    for case in found:
        seconds = [run.wall_seconds for run in case.sound]
        step = figures.seconds(median(frameworks.step_seconds(case)))
        yield f"{case.case.framework}: a run takes {figures.duration(median(seconds))}, a step {step}"
    first, *others = found
    for case in others:
        ratio = frameworks.ratio(case, first)
        bounds = f"[{significant(ratio.lower)}, {significant(ratio.upper)}]"
        yield (
            f"a step of {case.case.framework} takes {significant(ratio.estimate)} times as long as one of"
            f" {first.case.framework}, with the 90 % interval {bounds}"
        )
