"""The layout of a session's tables: columns, order and groups."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_dlbench.judging import METRICS, Metric, Metrics, shown_in
from pytest_dlbench.judging.metric import View

GROUPS = ("framework", "model", "dataset", "device", "mark")
# Columns that are not metrics, and their headings.
OWN: Mapping[str, str] = {
    "runs": "runs",
    "recurrent_kernels": "recurrent layers",
    "equal_to": "equal to",
    "verdict": "verdict",
}
# Views that stand for their metrics among the columns: those of the tables in two studies.
STUDIES: tuple[View, ...] = ("gatech", "tartu")


def expanded(given: Sequence[str], metrics: Metrics = METRICS) -> tuple[str, ...]:
    """The columns with a study's metrics in place of its name, each once."""
    of_studies: Mapping[str, Sequence[str]] = {
        view: [metric.name for metric in shown_in(view, metrics)] for view in STUDIES
    }
    return tuple(dict.fromkeys(column for name in given for column in of_studies.get(name, [name])))


def heading(column: str, metrics: Metrics = METRICS) -> str:
    """The heading of a column; metrics of hooks that are not installed have only their name."""
    return metrics[column].heading if column in metrics else OWN.get(column, column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The requested layout: empty ``columns`` are the default ones, an empty ``sort`` is the order of the tests.

    ``metrics`` are all known ones.
    """

    columns: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    sort: str = ""
    metrics: Metrics = field(default_factory=lambda: METRICS)

    def shown(self, figures: Collection[str] = (), *, has_kernels: bool = False) -> tuple[str, ...]:
        """The requested columns, else the default ones of cases that have these figures, and recurrent layers."""
        default = (metric for metric in shown_in("table", self.metrics) if is_shown(metric, figures))
        certified = () if self._has_only_operators(figures) else ("equal_to",)
        kernels = ("recurrent_kernels",) if has_kernels else ()
        return self.columns or ("runs", *(metric.name for metric in default), *kernels, *certified, "verdict")

    def _has_only_operators(self, figures: Collection[str]) -> bool:
        """Whether none of the cases has a network, which could be certified."""
        purposes = {self.metrics[name].purpose for name in figures if name in self.metrics} - {None}
        return purposes == {"operator"}


def is_shown(metric: Metric, figures: Collection[str]) -> bool:
    """Whether a table of cases that have these figures shows a metric of its view; metrics that no case has are hidden.

    If no case finished, the table has the columns of training.
    """
    if figures:
        return metric.name in figures
    return metric.purpose in (None, "training") and not metric.is_optional
