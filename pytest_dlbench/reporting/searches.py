"""What searches found, with intervals over the seeds, and what was published of a search."""

from collections.abc import Iterable, Iterator, Sequence

from pytest_dlbench.judging.searches import over_seeds
from pytest_dlbench.reporting import terminal
from pytest_dlbench.reporting.published.studies import figures
from pytest_dlbench.reporting.tables import Row

ACCURACIES = {"winner_accuracy": "test accuracy of the winner", "validation_accuracy": "best validation accuracy"}
STUDY, ENGINE = "tartu", "Auto-Keras"


def lines(rows: Iterable[Row]) -> list[str]:
    """A line per case that searched and each of its accuracies; then Auto-Keras as tartu published it."""
    found = [line for row in rows for line in _of_case(row)]
    return [*found, *published()] if found else []


def _of_case(row: Row) -> Iterator[str]:
    for metric, meaning in ACCURACIES.items():
        if values := row.values.get(metric):
            yield f"{terminal.name(row.result.case)}: {meaning} {_shown(values)}"


def _shown(values: Sequence[float]) -> str:
    found = over_seeds([100 * value for value in values])
    if len(values) == 1:
        return f"{found.estimate:.1f} %, one seed"
    lower, upper = max(0.0, found.lower), min(100.0, found.upper)
    return f"{found.estimate:.1f} % (95 % interval {lower:.1f} to {upper:.1f} over {len(values)} seeds)"


def published() -> list[str]:
    """The accuracies of Auto-Keras in tartu's paper, on other data and another machine."""
    return [
        f"{STUDY}: {ENGINE} on {figure.dataset}, {figure.device}: {figure.metric} {figure.value} {figure.unit}"
        f" ({figure.note.removeprefix('prose; ')})"
        for figure in figures(STUDY)
        if figure.framework == ENGINE
    ]
