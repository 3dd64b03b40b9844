"""When each step of a training ran, on the clock of the run; evaluations may be between them."""

from pytest_dlbench.records import Run, Training

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


def evaluated_before(run: Run) -> frozenset[int]:
    """The numbers of the steps, from 0, before which training was interrupted by an evaluation."""
    training = run.training
    if training is None:
        return frozenset()
    if training.alternation is None:
        return frozenset(number for number, _ in training.resumed)
    # Each step that alternated continues after one of the other side.
    return frozenset(point.step for point in run.curve if point.step < len(training.step_seconds))
