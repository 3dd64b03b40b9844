"""The time of each layer, forward and backward."""

from collections.abc import Sequence

from pytest_dlbench.judging.breakdowns import layer_times
from pytest_dlbench.reporting.charts.chart import Nothing, Table
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "layers", "Layers"
LEAD = (
    "Milliseconds of each layer by itself, medians over the runs: forward, and backward for the gradients of its inputs"
    " and of its parameters. The share is that of both in the sum over all layers and the loss."
)
COLUMNS = {
    "case": "case",
    "layer": "layer",
    "kind": "kind",
    "forward": "forward, ms",
    "backward": "backward, ms",
    "share": "share of both, %",
}


def chart(cases: Sequence[Measured]) -> Table | Nothing:
    """One row per layer of each case."""
    rows = []
    for number, case in enumerate(cases):
        found = layer_times(case.trained)
        total = sum(one.forward + one.backward for one in found)
        for one in found:
            share = 100 * (one.forward + one.backward) / total
            rows.append((number, one.name, one.kind, 1000 * one.forward, 1000 * one.backward, share))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no layer was timed (--dlbench-layers)")
    return Table(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows))
