"""The recurrent layers in the programs that XLA compiled."""

import jax  # noqa: F401 - for xla_kernels

from dlworker import xla_kernels


def recurrent_kernels(run, trainer, device, is_training):
    """{kernel: kind} of the step, or of inference; nothing has to run for it."""
    name = trainer._step.__name__ if is_training else trainer._apply.__name__
    return xla_kernels.recurrent_kernels(trainer.network, {"jit_%s" % name})
