"""How several workers of JAX meet, for every builder that computes with it: processes, or devices of one process."""

import os

import jax

from dlworker.meeting import address


def join(group):
    """Meet at the first worker's coordinator; the workers then exchange over connections of their own, by gloo."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    meeting = address(group)
    jax.distributed.initialize(meeting, group["workers"], group["rank"], coordinator_bind_address=meeting)


def leave():
    """End the connections to the other workers."""
    jax.distributed.shutdown()


def divide(group):
    """Have as many devices of the processor as there are workers. XLA reads the flag when it looks for devices."""
    flag = "--xla_force_host_platform_device_count=%d" % group["workers"]
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), flag]).strip()
