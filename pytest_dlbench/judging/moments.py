"""When steps were taken, on the clock of the time line."""

from math import nan

from pytest_dlbench.records import Training


def moments(training: Training) -> tuple[float, ...]:
    """When each step began, and when the last one ended, since the start of the run; NaN in older files."""
    found: list[float] = []
    began = {0: nan if training.began_seconds is None else training.began_seconds, **dict(training.resumed)}
    now = nan
    for number, seconds in enumerate(training.step_seconds):
        now = began.get(number, now)
        found.append(now)
        now += seconds
    return (*found, now)
