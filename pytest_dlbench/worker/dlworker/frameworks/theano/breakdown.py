"""Theano compiles the whole step into one program, and Lasagne has it do so."""

from dlworker.breakdown import UndividedError


def breakdown(trainer):
    """Refuse, with the reason."""
    raise UndividedError("one_program", "theano.function")
