"""The layers of a network, forward and backward, as convnet-benchmarks listed them."""

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.breakdowns import LayerTime, layer_times, passes
from pytest_dlbench.reporting import figures, terminal
from pytest_dlbench.storing.recorded import Recorded

RIGHT = ("forward", "backward", "share of both")


def as_json(cases: Sequence[Recorded]) -> list[dict[str, Any]]:
    """Every case whose layers were timed, with the seconds of each layer and of both passes."""
    return [
        {
            "case": case.result.case.id,
            "runs": len(case.record.runs),
            "layers": [
                {"name": one.name, "kind": one.kind, "forward_seconds": one.forward, "backward_seconds": one.backward}
                for one in found
            ],
            "sum_seconds": list(_sums(found)),
            "whole_seconds": list(passes(case.record.runs)),
        }
        for case in cases
        if (found := layer_times(case.record.runs))
    ]


def tables(cases: Sequence[Recorded]) -> list[str]:
    """A table for each case whose layers were timed: a row for each layer, their sum, and the network as a whole."""
    lines = []
    for case in cases:
        if found := layer_times(case.record.runs):
            grid = terminal.grid("layer", "kind", right=RIGHT)
            for cells in _rows(found, passes(case.record.runs)):
                grid.add_row(*cells)
            lines += [f"layers: {terminal.name(case.result.case)}", *terminal.lines(grid), ""]
    return lines


def _rows(found: Sequence[LayerTime], whole: tuple[float, float]) -> Iterator[tuple[str, ...]]:
    sums = _sums(found)
    for one in found:
        share = (one.forward + one.backward) / sum(sums)
        yield one.name, one.kind, _seconds(one.forward), _seconds(one.backward), f"{share:.1%}"
    yield "sum", "", *map(_seconds, sums), ""
    yield "whole network", "", *map(_seconds, whole), ""
    ratios = [part / of_whole for part, of_whole in zip((*sums, sum(sums)), (*whole, sum(whole)), strict=True)]
    yield "sum / whole", "", *(f"{ratio:.2f}" for ratio in ratios)


def _sums(found: Sequence[LayerTime]) -> tuple[float, float]:
    return sum(one.forward for one in found), sum(one.backward for one in found)


def _seconds(seconds: float) -> str:
    return figures.cell("phase_forward", seconds, METRICS)
