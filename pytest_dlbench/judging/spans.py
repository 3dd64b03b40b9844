"""When each step of a training was taken, on the clock of the run: evaluations may lie between them."""

from pytest_dlbench.records import Training

Span = tuple[float, float]


def spans(training: Training) -> tuple[Span, ...]:
    """When each step began and ended, since the start of the run; none in files that do not tell."""
    if training.began_seconds is None:
        return ()
    resumed, now = dict(training.resumed), training.began_seconds
    found: list[Span] = []
    for number, seconds in enumerate(training.step_seconds):
        began = resumed.get(number, now)
        now = began + seconds
        found.append((began, now))
    return tuple(found)
