"""Figures of single steps without the digits that they do not have, which would double the size of a journal."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from pytest_dlbench.records.runs import Run
from pytest_dlbench.records.trainings import Training

# Clocks count nanoseconds; differences of floating-point seconds have about eight digits more.
OF_SECONDS = 9


def seconds(values: Iterable[float]) -> tuple[float, ...]:
    """Times of a clock, to the nanosecond."""
    return tuple(round(value, OF_SECONDS) for value in values)


def losses(values: Sequence[float]) -> tuple[float, ...]:
    """Losses that a framework computed in float32, each with the shortest decimal that is the same number in float32.

    Others stay as they are. Losses of one precision are equal or different as before.
    """
    # What is above the largest number of float32 becomes infinite, and so is another number.
    with np.errstate(over="ignore"):
        singles = np.array(values, dtype=np.float32)
    pairs = zip(values, singles, strict=True)
    return tuple(float(str(single)) if float(single) == value else value for value, single in pairs)


def of_run(run: Run) -> Run:
    """A run of an earlier version, with the digits that this version records."""
    timeline = replace(run.timeline, machine_seconds=seconds(run.timeline.machine_seconds))
    return replace(run, timeline=timeline, training=_of_training(run.training) if run.training else None)


def _of_training(training: Training) -> Training:
    steps, began = [number for number, _ in training.resumed], [moment for _, moment in training.resumed]
    known = training.alternation
    return replace(
        training,
        step_seconds=seconds(training.step_seconds),
        losses=losses(training.losses),
        resumed=tuple(zip(steps, seconds(began), strict=True)),
        input_seconds=seconds(training.input_seconds),
        device_seconds=seconds(training.device_seconds),
        alternation=replace(known, cpu_seconds=seconds(known.cpu_seconds)) if known else None,
    )
