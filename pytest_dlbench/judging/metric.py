"""One figure of a run: all that is known of it, and how two of them are compared."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import nan
from typing import Literal

from pytest_dlbench.model import Purpose
from pytest_dlbench.records import Run

View = Literal["table", "page", "summary", "side_by_side", "history", "baseline", "progress", "sweeps"]
"""What has metrics without being asked for them: the tables of a session, its page, GitHub's summary, the comparison of
frameworks, ``dlbench history``, ``dlbench baseline list``, the lines of finished runs, and the chart of sweeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure of a run, in one entry: whatever reads, judges or shows it takes it from here.

    ``kind`` says how two of them are compared: as a ratio, or as a difference in percentage points. ``run_sd`` and
    ``session_sd`` are what is assumed of the spread of fresh processes and of sessions (log units, or points) until it
    is measured: the run's has four degrees of freedom alongside the data, the session's is added for either side.
    ``smallest_spread`` is the least standard deviation of a difference that is believed; without one, that of its kind.
    ``is_robust`` pulls single runs in that are far from the others: right for time, which neighbours disturb, and wrong
    where a single bad run is the finding. ``is_absolute``: 0 is right whatever another side has, and more is worse.
    ``is_exact``: figures of another day are as good as today's, however busy the machine is, so that runs are compared
    with stored runs; else sessions with stored sessions. Without a ``tolerance`` a metric is reported and not judged.

    ``value`` gives None for a run that has no such figure: then its case has none, whatever other runs have.
    ``purpose`` says which runs have it at all; ``is_optional``: even of these, only those of some models, recipes or
    machines.

    ``label`` is its heading in tables, by default its name. Where that has the unit, ``cell`` is the format of the
    number under it, such as ``.2f``. ``default_views`` are those that show it without being asked.
    """

    name: str
    unit: str
    better: Literal["lower", "higher"]
    kind: Literal["ratio", "points"]
    value: Callable[[Run], float | None]
    label: str = ""
    cell: str = ""
    default_views: tuple[View, ...] = ()
    purpose: Purpose | None = None
    is_optional: bool = False
    tolerance: float | None = None
    run_sd: float = 0.015
    # Two sessions of the same code in a row, on a shared machine of two cores: eight cases differed by 2.7 % (root mean
    # square), which is √2 of this.
    session_sd: float = 0.02
    smallest_spread: float | None = None
    is_robust: bool = True
    is_absolute: bool = False
    is_exact: bool = False

    @property
    def heading(self) -> str:
        """Its column's heading."""
        return self.label or self.name

    @property
    def is_timed(self) -> bool:
        """Whether a machine that is twice as fast makes it twice as good."""
        return self.unit in ("s", "samples/s")

    def figure(self, run: Run) -> float:
        """What the run has, NaN for one that has none."""
        found = self.read(run)
        return nan if found is None else found

    def told(self, runs: Iterable[Run]) -> list[float]:
        """What those runs have that have one."""
        return [value for run in runs if (value := self.read(run)) is not None]

    def read(self, run: Run) -> float | None:
        """What the run has, None for one that has none."""
        purpose = "training" if run.inference is None else "inference"
        return self.value(run) if self.purpose in (None, purpose) else None
