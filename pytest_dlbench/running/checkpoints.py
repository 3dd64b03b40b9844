"""Trainings that are saved, and a second process that goes on from the checkpoint: its losses must be the same."""

from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from math import inf, isfinite
from pathlib import Path

from pytest_dlbench.records import Checkpoint, Run, RunOutcome
from pytest_dlbench.records.problems import NotResumed
from pytest_dlbench.running import messages
from pytest_dlbench.running.failures import NotDoneError
from pytest_dlbench.running.run_spec import NetworkSpec

# Of losses, relative: what other builders of a network may differ by, too.
BOUNDS = {"float64": 1e-12}
OTHERS = 1e-5
# Layers that draw random numbers in every step.
DRAWING = frozenset({"dropout"})


def train_and_resume(spec: NetworkSpec, folder: Path, train: Callable[[NetworkSpec], Run]) -> Run:
    """A run with a checkpoint in a folder, and what a second process read of it, whose end is that of the run."""
    run = train(replace(spec, checkpoint=folder))
    if run.checkpoint is None or run.outcome is not RunOutcome.FINISHED:
        return run
    resumed = train(replace(spec, checkpoint=folder, resumes=run.checkpoint))
    return replace(
        run,
        outcome=resumed.outcome,
        problem=resumed.problem,
        message=resumed.message,
        log=resumed.log,
        checkpoint=resumed.checkpoint or run.checkpoint,
        wall_seconds=run.wall_seconds + resumed.wall_seconds,
        survivors=(*run.survivors, *resumed.survivors),
    )


def written(spec: NetworkSpec, saved: messages.Saved, numbers: tuple[int, ...]) -> Checkpoint:
    """The checkpoint that a process wrote."""
    draws = any(layer["kind"] in DRAWING for layer in spec.network.as_json()["layers"])
    return Checkpoint(
        mechanism=saved.mechanism,
        size_bytes=saved.size_bytes,
        write_seconds=saved.seconds,
        numbers=numbers,
        losses=saved.losses,
        not_kept=saved.not_kept,
        bound=None if draws and saved.not_kept else BOUNDS.get(spec.recipe.precision, OTHERS),
    )


def read(known: Checkpoint, resumed: messages.Resumed) -> Checkpoint:
    """The checkpoint with what the process had that read it."""
    deviation = max(map(_difference, known.losses, resumed.losses), default=None)
    return replace(
        known,
        read_seconds=resumed.seconds,
        resumed_losses=resumed.losses,
        deviation=None if deviation is None else _recorded(deviation),
    )


def require_same(found: Checkpoint) -> None:
    """Raise NotDoneError with the first losses that differ by more than the bound, or that are missing."""
    for step, losses in enumerate(zip_longest(found.losses, found.resumed_losses, fillvalue="nan")):
        deviation = _difference(*losses)
        if found.bound is not None and not deviation <= found.bound:
            problem = NotResumed(
                mechanism=found.mechanism,
                step=step,
                losses=losses,
                deviation=_recorded(deviation),
                bound=found.bound,
            )
            raise NotDoneError(RunOutcome.FAILED, problem)


def _recorded(deviation: float) -> float | None:
    """JSON has no infinity."""
    return deviation if isfinite(deviation) else None


def _difference(expected: str, found: str) -> float:
    """The relative difference of two losses that are text."""
    if expected == found:
        return 0.0
    one, other = float(expected), float(found)
    if not (isfinite(one) and isfinite(other)):
        return inf
    return abs(one - other) / max(abs(one), abs(other))
