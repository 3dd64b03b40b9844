"""What is known about a metric, so that readers need neither the code nor the hooks that measured it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """The facts of a metric that is not built in: those of ``Metric``, without the function that reads it from a run.

    ``views`` are where it is shown by default. Not stored: its format in cells, which no file may choose.
    """

    name: str
    unit: str
    better: Literal["lower", "higher"]
    kind: Literal["ratio", "points"]
    tolerance: float | None = None
    least_change: float = 0.0
    label: str = ""
    views: tuple[str, ...] = ()
    purpose: Literal["training", "inference", "operator", "search"] | None = None
    run_sd: float
    session_sd: float
    smallest_spread: float | None = None
    is_robust: bool = True
    is_absolute: bool = False
    is_exact: bool = False
    is_counted: bool = False
    is_portable: bool = False
