"""One figure of a run, and how two of them are compared."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import nan
from typing import Literal

from pytest_dlbench.model import Purpose
from pytest_dlbench.records import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure of a run.

    ``kind`` says how two of them are compared: as a ratio, or as a difference in percentage points. ``run_sd`` and
    ``session_sd`` are what is assumed of the spread of fresh processes and of sessions (log units, or points) until it
    is measured: the run's has four degrees of freedom beside the data, the session's is added for either side.
    ``is_robust`` pulls single runs in that are far from the others: right for time, which neighbours disturb, and wrong
    where a single bad run is the finding. ``is_absolute``: 0 is right whatever another side has, and more is worse.
    ``is_exact``: figures of another day are as good as today's, however busy the machine is, so that runs are compared
    with stored runs; else sessions with stored sessions. Without a ``tolerance`` a metric is reported and not judged.
    ``value`` gives None for a run that has no such figure: then its case has none, whatever other runs have.
    ``is_shown`` gives it a column in the table; ``purpose`` says which runs have it at all.
    """

    name: str
    unit: str
    better: Literal["lower", "higher"]
    kind: Literal["ratio", "points"]
    value: Callable[[Run], float | None]
    tolerance: float | None = None
    run_sd: float = 0.015
    # Two sessions of the same code in a row, on a shared machine of two cores: eight cases differed by 2.7 % (root mean
    # square), which is √2 of this.
    session_sd: float = 0.02
    is_robust: bool = True
    is_absolute: bool = False
    is_exact: bool = False
    purpose: Purpose | None = None
    is_shown: bool = False

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
