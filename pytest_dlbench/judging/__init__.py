"""Numbers in, verdicts out: no clock, no file, no pytest."""

from pytest_dlbench.judging.comparable import changes, obstacles
from pytest_dlbench.judging.metrics import METRICS, Metric, read_all, steady_steps, summarise
from pytest_dlbench.judging.outcomes import SKIPPING, fails, of_runs, of_verdicts
from pytest_dlbench.judging.tolerance import parse_tolerances
from pytest_dlbench.judging.verdicts import compare

__all__ = [
    "METRICS",
    "SKIPPING",
    "Metric",
    "changes",
    "compare",
    "fails",
    "obstacles",
    "of_runs",
    "of_verdicts",
    "parse_tolerances",
    "read_all",
    "steady_steps",
    "summarise",
]
