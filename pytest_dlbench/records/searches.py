"""What a search for a network tried, and how good its best one was at any time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_dlbench.records.outcomes import RunOutcome
from pytest_dlbench.records.problems import Problem

TrialOutcome = Literal["finished", "failed", "over_budget"]
SearchEnd = Literal["budget", "trials", "failures"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One network that was trained and validated in a fresh process; its run, named ``case``, is in the journal.

    ``outcome`` is "over_budget" for a trial that was cut at the end of the budget, or ended after it: then it cannot
    win, even if it has an ``accuracy``. ``accuracy`` is that on the validation split; ``run_outcome``, ``message`` and
    ``problem`` say how its run ended. ``cpu_seconds`` and ``wall_seconds`` are its own; ``cpu_total`` and
    ``wall_total`` those of the search until its end.
    """

    case: str
    settings: Mapping[str, bool | int | float | str]
    outcome: TrialOutcome
    run_outcome: RunOutcome
    cpu_seconds: float
    wall_seconds: float
    cpu_total: float
    wall_total: float
    accuracy: float | None = None
    message: str = ""
    problem: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPoint:
    """The best validation accuracy of all trials until a time: seconds of processors, and of a clock."""

    cpu_seconds: float
    wall_seconds: float
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search with one seed.

    ``winner`` is the number of the trial with the best validation accuracy within the budget, from 0; None if there is
    none. ``ended`` says why no further trial started: the rest of the ``budget_seconds`` of processor time is less
    than a trial takes, the most trials were made, or too many trials failed in a row. ``curve`` has a point for every
    trial that was better than all before it.
    """

    engine: str
    space: str
    budget_seconds: float
    trials: tuple[Trial, ...]
    winner: int | None
    ended: SearchEnd
    curve: tuple[SearchPoint, ...] = field(default=())


def curve_of(trials: tuple[Trial, ...]) -> Iterator[SearchPoint]:
    """A point for every trial within the budget that was better than all before it."""
    best = -1.0
    for trial in trials:
        if trial.outcome == "finished" and trial.accuracy is not None and trial.accuracy > best:
            best = trial.accuracy
            yield SearchPoint(cpu_seconds=trial.cpu_total, wall_seconds=trial.wall_total, accuracy=best)
