"""Keras compiles, or takes, the whole step in one call, whatever its backend."""

from dlworker.breakdown import UndividedError


def breakdown(trainer):
    """Refuse, with the reason."""
    raise UndividedError("one_call", "train_on_batch")
