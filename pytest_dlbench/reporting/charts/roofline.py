"""The arithmetic throughput of trainings under the roofline of their machine."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from pytest_dlbench.records import MachineSpeed, Run
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "roofline", "Roofline"
LEAD = (
    "Arithmetic throughput of a training (median of its runs) against its arithmetic intensity. The roof is what the"
    " machine reached in NumPy with as many threads: its peak on large matrices and, left of the ridge, what its memory"
    " bandwidth allows. Bytes are not measured but counted from the model, with nothing read twice. That makes the"
    " intensity an upper bound as long as arrays go through memory; a network that fits into the caches may be above"
    " the slope."
)
COLUMNS = {
    "case": "case",
    "roof": "roof",
    "intensity": "FLOP/byte, at most",
    "achieved": "reached (GFLOP/s)",
    "attainable": "roof at this intensity (GFLOP/s)",
    "share": "share of the roof (%)",
    "flops": "per step (GFLOP)",
    "megabytes": "per step, at least (MB)",
    "peak": "peak (GFLOP/s)",
    "bandwidth": "memory bandwidth, read and written (GB/s)",
    "runs": "runs",
}
GIGA, MEGA = 1e9, 1e6
MARGIN = 3
"""The factor by which the roof extends beyond the first and the last dot."""


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """One dot per case whose machine speed was measured; one machine, thread count and precision at a time."""
    rows = tuple(row for number, case in enumerate(cases) for row in _rows(number, case))
    older = sum(any(run.speed and not run.work for run in case.trained) for case in cases)
    if not rows:
        because = (
            "the records are from before the bytes of a step were counted"
            if older
            else "no training has the peak of its machine, which is measured for CPUs in one precision"
        )
        return Nothing(name=NAME, title=TITLE, because=because)
    note = f"{older} case{'s have' if older > 1 else ' has'} no dot: recorded before the bytes of a step were counted."
    return Chart(
        name=NAME,
        title=TITLE,
        lead=LEAD,
        columns=COLUMNS,
        rows=rows,
        picture=_picture(cases),
        choose="roof",
        notes=(note,) if older else (),
    )


def _rows(number: int, case: Measured) -> Iterator[Row]:
    placed = [(run, run.speed, run.work) for run in case.trained if run.flop_utilisation is not None]
    # Without a bandwidth there is no roof: that of GPUs is not measured.
    known = [(run, speed, work) for run, speed, work in placed if speed and work and speed.copied_bytes_per_second]
    if not known:
        return
    # All runs of a case have one network; the machine's speed is measured once per session, or again if it was too low.
    _, speed, work = known[-1]
    achieved = median(_achieved(run, found) for run, found, _ in known)
    intensity = work.flops / work.least_bytes
    assert speed.copied_bytes_per_second is not None
    peak, bandwidth = speed.flops_per_second / GIGA, speed.copied_bytes_per_second / GIGA
    attainable = min(peak, intensity * bandwidth)
    share = 100 * achieved / attainable
    step = (work.flops / GIGA, work.least_bytes / MEGA)
    roof = f"{case.context.machine.name}, {speed.threads} thread{'s' * (speed.threads != 1)}, {speed.precision}"
    yield (number, roof, intensity, achieved, attainable, share, *step, peak, bandwidth, len(known))


def _achieved(run: Run, speed: MachineSpeed) -> float:
    return (run.flop_utilisation or 0.0) * speed.flops_per_second / GIGA


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    across, up = "arithmetic intensity (FLOP/byte), an upper bound", "GFLOP/s"
    scale = alt.Scale(type="log", nice=False, padding=16)
    roofs = (
        alt.Chart(look.ROWS)
        .transform_aggregate(least="min(intensity)", most="max(intensity)", groupby=["peak", "bandwidth"])
        .transform_calculate(ridge="datum.peak / datum.bandwidth")
        .transform_calculate(left=f"min(datum.least, datum.ridge) / {MARGIN}")
        .transform_calculate(right=f"max(datum.most, datum.ridge) * {MARGIN}", foot="datum.left * datum.bandwidth")
        .mark_rule(color="#8290a3", strokeWidth=2)
    )
    slope = roofs.encode(
        x=alt.X("left:Q", title=across, scale=scale),
        y=alt.Y("foot:Q", title=up, scale=scale),
        x2="ridge:Q",
        y2="peak:Q",
    )
    flat = roofs.encode(
        x=alt.X("ridge:Q", title=across, scale=scale), y=alt.Y("peak:Q", title=up, scale=scale), x2="right:Q"
    )
    dots = (
        alt.Chart(look.ROWS)
        .mark_point(filled=True, size=60, opacity=0.9)
        .encode(
            x=alt.X("intensity:Q", title=across, scale=scale),
            y=alt.Y("achieved:Q", title=up, scale=scale),
            color=look.framework(cases),
            tooltip=look.hint(
                ("case:N", "case"),
                ("achieved:Q", "GFLOP/s"),
                ("intensity:Q", "FLOP/byte, at most"),
                ("share:Q", "of the roof (%)"),
            ),
        )
    )
    return look.specification(alt.layer(slope, flat, dots), look.HEIGHT)
