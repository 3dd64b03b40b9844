"""Settings of execution in Keras 3, which has none of its own: those of its backend, and the layout of images."""

from dlworker import xla_flags
from dlworker.frameworks.keras.layers import BACKEND, LAYOUT
from dlworker.protocol import RequestError

# Those that some backend has.
EXECUTION = (
    "autotune",
    "channels_last",
    "cuda_graphs",
    "deterministic",
    "library=eigen",
    "library=mkl",
    "library=onednn",
    "tf32",
)

if BACKEND == "tensorflow":
    from dlworker.frameworks.tensorflow.execution import EXECUTION as OF_BACKEND
    from dlworker.frameworks.tensorflow.execution import set_execution as set_in_backend
elif BACKEND == "torch":
    from dlworker.frameworks.pytorch.execution import EXECUTION as OF_BACKEND
    from dlworker.frameworks.pytorch.execution import set_execution as set_in_backend
else:
    # Not those of the builder for JAX, which needs a library that Keras does not.
    import jax

    OF_BACKEND = EXECUTION


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off."""
    missing = sorted(set(execution) - set(OF_BACKEND))
    if missing:
        raise RequestError("unsupported", "Keras on %s has no %s" % (BACKEND, ", no ".join(missing)))
    if "channels_last" in execution and LAYOUT != "channels_last":
        reason = "Keras on %s is channels first here: otherwise every pooling copies images to that layout and back"
        raise RequestError("unsupported", reason % BACKEND)
    if BACKEND != "jax":
        set_in_backend(execution, device)
    if BACKEND != "torch" and device != "cpu":
        # On TensorFlow, too, Keras compiles steps on GPUs with XLA.
        xla_flags.set_execution(execution)


def round_products(recipe):
    """On JAX, where it depends on the precision: choose how GPUs may round the factors of float32 products."""
    if BACKEND == "jax":
        xla_flags.round_products(jax, recipe)
