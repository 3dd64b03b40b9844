"""When each step of a training ran, on the clock of the run; evaluations may be between them."""

from pytest_dlbench.records import Training

Span = tuple[float, float]


def spans(training: Training) -> tuple[Span, ...]:
    """Start and end of each step since the start of the run; empty for files without that information."""
    if training.began_seconds is None:
        return ()
    resumed, now = dict(training.resumed), training.began_seconds
    found: list[Span] = []
    for number, seconds in enumerate(training.step_seconds):
        began = resumed.get(number, now)
        now = began + seconds
        found.append((began, now))
    return tuple(found)
