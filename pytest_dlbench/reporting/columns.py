"""What the tables of a session may have: their columns, their order, and what they are grouped by."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pytest_dlbench.judging import METRICS, Metric, Metrics, shown_in

GROUPS = ("framework", "model", "dataset", "device", "mark")
# Columns that are no metrics, and their headings.
OWN: Mapping[str, str] = {"runs": "runs", "equal_to": "equal to", "verdict": "verdict"}


def heading(column: str, metrics: Metrics = METRICS) -> str:
    """What stands above a column; of a metric that a hook brought elsewhere only the name is known."""
    return metrics[column].heading if column in metrics else OWN.get(column, column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What was asked for: without ``columns`` the usual ones, with an empty ``sort`` the order of the tests.

    ``metrics`` are all that the session knows.
    """

    columns: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    sort: str = ""
    metrics: Metrics = field(default_factory=lambda: METRICS)

    def shown(self, figures: Collection[str] = ()) -> tuple[str, ...]:
        """The columns: those that were asked for, else the usual ones of cases that have these figures."""
        usual = (metric for metric in shown_in("table", self.metrics) if is_shown(metric, figures))
        return self.columns or ("runs", *(metric.name for metric in usual), "equal_to", "verdict")


def is_shown(metric: Metric, figures: Collection[str]) -> bool:
    """Whether a table of cases that have these figures shows a metric of its view: not one that none of them has.

    Where no case finished, the table is that of a training.
    """
    if metric.purpose is None or metric.name in figures:
        return True
    return not figures and metric.purpose == "training" and not metric.is_optional
