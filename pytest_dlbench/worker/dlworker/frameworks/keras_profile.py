"""Keras 3 has no profiler: its back end's."""

from dlworker.frameworks.keras_layers import BACKEND

if BACKEND == "tensorflow":
    from dlworker.frameworks.tensorflow_profile import profile
elif BACKEND == "jax":
    from dlworker.frameworks.jax_profile import profile
else:
    from dlworker.frameworks.pytorch_profile import profile

__all__ = ["profile"]
