"""The recurrent layers in the programs that XLA compiled."""

import jax  # noqa: F401 - for xla_kernels

from dlworker import xla_kernels


def recurrent_kernels(run, trainer, device, is_training):
    """{kernel: kind} of the step, or of inference; nothing has to run for it."""
    # JAX names a program after its function, of which _apply is a part that has no name of its own.
    name = trainer._step.__name__ if is_training else "_outputs"
    return xla_kernels.recurrent_kernels(trainer.network, {"jit_%s" % name})
