"""When a training reached its target accuracy.

A run that never did is censored: its time is longer than its training, by an unknown amount. It is not infinite,
because the run was ended, and it is not excluded, because only the lucky runs would remain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dlbench.records import Run
from pytest_dlbench.records.reasons import TargetMissed


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeToAccuracy:
    """Training seconds and epochs at the first evaluation at or above the target; at the last one if ``is_censored``.

    The recipe sets the evaluation interval: the target was reached at some time since the previous evaluation.
    """

    target: float
    seconds: float
    epochs: float
    is_censored: bool


def time_to_accuracy(run: Run) -> TimeToAccuracy | None:
    """The time of a run that had a target and was evaluated, else None."""
    if run.target_accuracy is None or not run.curve:
        return None
    found = next((point for point in run.curve if point.accuracy >= run.target_accuracy), None)
    point = found or run.curve[-1]
    return TimeToAccuracy(
        target=run.target_accuracy, seconds=point.seconds, epochs=point.epoch, is_censored=found is None
    )


def reached(run: Run) -> float | None:
    """1 for a run that reached its target, 0 for one that did not."""
    found = time_to_accuracy(run)
    return None if found is None else float(not found.is_censored)


def seconds(run: Run) -> float | None:
    """Training seconds until the target was reached; None if it was not."""
    found = time_to_accuracy(run)
    return None if found is None or found.is_censored else found.seconds


def epochs(run: Run) -> float | None:
    """Epochs until the target was reached; None if it was not."""
    found = time_to_accuracy(run)
    return None if found is None or found.is_censored else found.epochs


def censored(runs: Sequence[Run]) -> tuple[TargetMissed, ...]:
    """One caution where runs did not reach their target."""
    found = [known for run in runs if (known := time_to_accuracy(run))]
    ended = [known for known in found if known.is_censored]
    if not ended:
        return ()
    shortest = min(ended, key=lambda known: known.seconds)
    missed = TargetMissed(
        missed=len(ended),
        runs=len(found),
        target=shortest.target,
        seconds=shortest.seconds,
        epochs=shortest.epochs,
    )
    return (missed,)
