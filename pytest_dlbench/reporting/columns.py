"""What the tables of a session may have: their columns, their order, and what they are grouped by."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dlbench.judging import METRICS

GROUPS = ("framework", "model", "dataset", "device", "mark")
# Metrics without a heading here have their name.
HEADINGS: Mapping[str, str] = {
    "runs": "runs",
    "throughput": "samples/s",
    "step_time_median": "step median",
    "step_time": "step 10 %",
    "import_time": "import",
    "build_time": "build",
    "first_step": "first step",
    "accuracy": "accuracy",
    "peak_rss": "peak RSS",
    "cpu_use": "CPUs",
    "equal_to": "equal to",
    "verdict": "verdict",
}
USUAL = (
    *("runs", "throughput", "step_time_median", "step_time", "import_time", "build_time", "first_step"),
    *("accuracy", "peak_rss", "cpu_use", "equal_to", "verdict"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What was asked for; ``sort`` is empty for the order of the tests."""

    columns: tuple[str, ...] = USUAL
    group_by: tuple[str, ...] = ()
    sort: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns: those that were asked for, else the usual ones and what hooks have added, before the verdict."""
        if self.columns != USUAL:
            return self.columns
        added = (metric.name for metric in METRICS.values() if metric.is_shown)
        return (*USUAL[:-1], *added, USUAL[-1])
