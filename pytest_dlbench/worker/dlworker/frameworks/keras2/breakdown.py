"""Keras compiles the whole step into one call."""

from dlworker.breakdown import UndividedError


def breakdown(trainer):
    """Refuse, with the reason."""
    raise UndividedError("one_call", "train_on_batch")
