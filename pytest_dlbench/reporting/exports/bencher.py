"""Bencher Metric Format: each case's measures, with their values and the range over the runs."""

from collections.abc import Sequence

from pytest_dlbench import judging
from pytest_dlbench.reporting import foreign
from pytest_dlbench.storing.recorded import Recorded


def write(recorded: Sequence[Recorded]) -> bytes:
    """The median over the runs of each metric. Cases that are not valid are omitted: the format cannot mark them."""
    sound = [case for case in recorded if judging.is_sound(case.result)]
    measures = {foreign.line(case.record.case.id): _measures(case) for case in sound}
    return foreign.json_file({name: found for name, found in measures.items() if found})


def _measures(recorded: Recorded) -> dict[str, dict[str, float]]:
    by_run = [found for run in recorded.record.runs if (found := judging.summarise([run]))]
    return {
        name: {
            "value": value,
            "lower_value": min(found[name] for found in by_run if name in found),
            "upper_value": max(found[name] for found in by_run if name in found),
        }
        for name, value in recorded.result.figures.items()
        if any(name in found for found in by_run)
    }
