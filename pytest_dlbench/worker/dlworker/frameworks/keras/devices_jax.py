"""Keras's distribution on several devices of one process of JAX."""

from dlworker.frameworks.keras.parallel_jax import OF_EACH, Trainer
from dlworker.jax_workers import divide as join

__all__ = ["OF_EACH", "Trainer", "join", "leave"]


def leave():
    """Does nothing: there are no connections."""
