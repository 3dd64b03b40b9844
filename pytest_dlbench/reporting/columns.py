"""What the tables of a session may have: their columns, their order, and what they are grouped by."""

from collections.abc import Collection, Mapping
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
    "latency_median": "latency median",
    "latency": "latency 10 %",
    "latency_p90": "latency 90 %",
    "accuracy": "accuracy",
    "best_accuracy": "best accuracy",
    "time_to_accuracy": "to accuracy",
    "epochs_to_accuracy": "epochs to it",
    "reached_accuracy": "reached",
    "training_time": "training",
    "top5_accuracy": "top 5",
    "perplexity": "perplexity",
    "peak_rss": "peak RSS",
    "leak": "leak",
    "cpu_use": "CPUs",
    "equal_to": "equal to",
    "verdict": "verdict",
}
USUAL = (
    *("runs", "throughput", "step_time_median", "step_time", "latency_median", "latency", "latency_p90"),
    *("import_time", "build_time", "first_step", "accuracy", "top5_accuracy", "perplexity"),
    *("time_to_accuracy", "epochs_to_accuracy", "reached_accuracy"),
    *("peak_rss", "leak", "cpu_use", "equal_to", "verdict"),
)
# Of inference or of training, or of some models: a table where no case has them does without.
OF_SOME = frozenset(column for column in USUAL if column in METRICS and METRICS[column].purpose)
OF_FEW = {"top5_accuracy", "perplexity", "time_to_accuracy", "epochs_to_accuracy", "reached_accuracy", "leak"}
USUAL_FIGURES = OF_SOME - OF_FEW - {"latency", "latency_median", "latency_p90"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What was asked for; ``sort`` is empty for the order of the tests."""

    columns: tuple[str, ...] = USUAL
    group_by: tuple[str, ...] = ()
    sort: str = ""

    def shown(self, figures: Collection[str] = ()) -> tuple[str, ...]:
        """The columns: those that were asked for, else the usual ones and what hooks have added, before the verdict.

        Of the usual ones those are left out that no case of a table has, whose ``figures`` these are, if it has any.
        """
        if self.columns != USUAL:
            return self.columns
        added = (metric.name for metric in METRICS.values() if metric.is_shown)
        columns = (*USUAL[:-1], *added, USUAL[-1])
        kept = figures or USUAL_FIGURES
        return tuple(column for column in columns if column not in OF_SOME or column in kept)
