"""TensorFlow 1 runs the whole step as one graph: another call would compute the forward pass again."""

from dlworker.breakdown import UndividedError


def breakdown(trainer):
    """Refuse, with the reason."""
    raise UndividedError("one_call", "Session.run")
