"""The profiler of the backend: Keras 3 has none."""

from dlworker.frameworks.keras.layers import BACKEND

if BACKEND == "tensorflow":
    from dlworker.frameworks.tensorflow.profile import profile
elif BACKEND == "torch":
    from dlworker.frameworks.pytorch.profile import profile
else:
    import jax

    from dlworker.profiling import processor_only
    from dlworker.xla_trace import operator_seconds

    def profile(run, trainer, device):
        """{operator: seconds} of what ``run`` does. The JAX builder has the same, but needs optax."""
        processor_only("JAX", device)
        return operator_seconds(run, jax.profiler.trace)


__all__ = ["profile"]
