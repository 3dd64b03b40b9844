"""From runs to the reasons that they give."""

from collections.abc import Iterable, Mapping, Sequence

from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.sanity import MOST_GAIN, too_good
from pytest_dlbench.records import Run, Verdict
from pytest_dlbench.records.reasons import Invalid, InvalidRun, Repeat, Side, TightTolerance, TooGood, Unfinished


def unfinished(run: Run, side: Side = "", framework: str = "") -> Unfinished:
    """A run that did not finish; ``side`` and ``framework`` are of a pair."""
    return Unfinished(
        index=run.index,
        seed=run.seed,
        outcome=run.outcome,
        message=run.message,
        problem=run.problem,
        log=run.log,
        side=side,
        framework=framework,
    )


def invalid(sides: Mapping[Side, Sequence[Run]], repeats: int = 0) -> Invalid:
    """The invalid ones among these runs, which stayed invalid in ``repeats`` repetitions."""
    found = [
        InvalidRun(index=run.index, seed=run.seed, reasons=run.invalid, side=side)
        for side, runs in sides.items()
        for run in runs
        if run.invalid
    ]
    return Invalid(runs=tuple(found), repeats=repeats)


def unlikely(verdicts: Iterable[Verdict], metrics: Metrics, again: Repeat | None = None) -> tuple[TooGood, ...]:
    """The gains that are too good to be true, if there are any; ``again`` if they could be saved."""
    gains = too_good(verdicts, metrics)
    return (TooGood(gains=gains, limit=MOST_GAIN, again=again),) if gains else ()


def tight(asked: Mapping[str, float], smallest: Mapping[str, float]) -> tuple[TightTolerance, ...]:
    """The metrics of ``smallest``, whose tolerances are below what can be judged."""
    return tuple(TightTolerance(metric=name, asked=asked[name], smallest=least) for name, least in smallest.items())
