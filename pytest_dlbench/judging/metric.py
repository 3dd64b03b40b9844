"""One figure of a run: its properties, and how two of them are compared."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, nan
from typing import Literal

from pytest_dlbench.model import Purpose
from pytest_dlbench.records import Run

View = Literal[
    "table",
    "page",
    "statement",
    "summary",
    "side_by_side",
    "history",
    "baseline",
    "progress",
    "sweeps",
    "scaling",
    "study",
    "gatech",
    "tartu",
]
"""Where metrics are shown by default: the tables of a session, its page, the statement that the page makes on a case
that nothing was compared with, GitHub's summary, the comparison of frameworks, ``dlbench history``, ``dlbench baseline
list``, the lines of finished runs, the chart of sweeps, tables of several workers, ``dlbench study``, and the tables
that are laid out as in the papers of gatech and tartu."""

LARGEST = {"s": 1e8, "bytes": 1e18}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure of a run. Everything that reads, judges or shows it uses this entry.

    ``kind`` says how two of them are compared: as a ratio, or as a difference in percentage points. ``run_sd`` and
    ``session_sd`` are the assumed spreads of fresh processes and of sessions (standard deviations in log units, or
    points) until they are measured: the run's has four degrees of freedom in addition to the data, the session's is
    added for either side. ``smallest_spread`` is the minimum standard deviation of a difference; by default that of
    its kind. ``is_robust`` clips outlying runs: right for times, which other processes disturb, and wrong if a single
    bad run is the finding. ``is_absolute``: 0 is right whatever the other side has, and more is worse. ``is_exact``:
    figures of another day are as good as today's, however busy the machine is, so runs are compared with stored runs;
    otherwise sessions with stored sessions. ``is_counted``: the same in every run of the same code, so that any change
    is one of the code, and a cause of others. Without a ``tolerance`` a metric is reported but not judged. The
    default one is applied as the share that ``least_change``, in the metric's unit, is of the baseline if that is more.

    ``value`` returns None for a run without this figure; its case has none then, whatever other runs have. Without a
    ``value`` it is what a program reported by the metric's name.
    ``purpose`` says which runs have it; ``is_optional``: of these, only some models, recipes or machines have it.
    ``needs_whole_recipe``: a training that ends early has another value, which no requirement applies to.

    ``is_of_steps``: it is read from single steps or batches, so that a run with very few of them shows little.
    ``resolution`` is by how much the value of a run may be wrong because the kernel counts in ticks, in the metric's
    unit; None where that is far less than runs differ.

    ``timed`` is what it is the time of, for the metrics that judge how fast a case is; empty for others.

    ``label`` is its heading in tables, by default its name. If the heading contains the unit, ``cell`` is the format of
    the numbers below it, such as ``.2f``. ``default_views`` are those that show it by default.
    """

    name: str
    unit: str
    better: Literal["lower", "higher"]
    kind: Literal["ratio", "points"] = "ratio"
    value: Callable[[Run], float | None] | None = None
    label: str = ""
    timed: str = ""
    cell: str = ""
    default_views: tuple[View, ...] = ()
    purpose: Purpose | None = None
    is_optional: bool = False
    tolerance: float | None = None
    least_change: float = 0.0
    run_sd: float = 0.015
    # Two sessions of the same code in a row, on a shared machine of two cores: eight cases differed by 2.7 % (root mean
    # square), which is √2 of this.
    session_sd: float = 0.02
    smallest_spread: float | None = None
    is_robust: bool = True
    is_absolute: bool = False
    is_exact: bool = False
    is_counted: bool = False
    is_portable: bool = False
    deviation: float | None = None
    needs_whole_recipe: bool = False
    is_of_steps: bool = False
    resolution: Callable[[Run], float] | None = None

    @property
    def heading(self) -> str:
        """The heading of its column."""
        return self.label or self.name

    @property
    def largest(self) -> float:
        """The largest value that its unit makes possible: three years, an exabyte, all answers right."""
        if self.unit == "share" and self.kind == "points" and not self.is_absolute:
            return 1.0
        return LARGEST.get(self.unit, inf)

    @property
    def is_timed(self) -> bool:
        """Whether a machine that is twice as fast makes it twice as good."""
        return self.unit in ("s", "samples/s")

    def figure(self, run: Run) -> float:
        """The run's value, NaN if it has none."""
        found = self.read(run)
        return nan if found is None else found

    def values(self, runs: Iterable[Run]) -> list[float]:
        """The values of those runs that have one."""
        return [value for run in runs if (value := self.read(run)) is not None]

    def read(self, run: Run) -> float | None:
        """The run's value, None if it has none."""
        if self.purpose not in (None, run.purpose):
            return None
        if self.value is None:
            return run.reported.values.get(self.name) if run.reported else None
        return self.value(run)
