"""What differs between the back ends of Keras 3: threads, versions, devices, and picking a batch."""

import keras

from dlworker.frameworks.keras.layers import BACKEND
from dlworker.protocol import RequestError

if BACKEND == "tensorflow":
    import tensorflow as tf
elif BACKEND == "jax":
    import jax
elif BACKEND == "torch":
    import torch
else:
    raise RequestError("unsupported", "the Keras builder has no back end %r" % BACKEND)


def configure(threads):
    """Threads of the back end; XLA's CPU pool reads NPROC, which the driver set before this Python started."""
    if BACKEND == "tensorflow":
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    elif BACKEND == "torch":
        torch.set_num_threads(threads)


def threads():
    """Threads inside one operator, or None on JAX, which does not tell the size of its pool."""
    if BACKEND == "tensorflow":
        return tf.config.threading.get_intra_op_parallelism_threads()
    return torch.get_num_threads() if BACKEND == "torch" else None


def versions():
    """Keras and its back end and, where there is, the CUDA that this was built with."""
    found = {"keras": keras.__version__}
    if BACKEND == "tensorflow":
        found.update(tensorflow=tf.__version__, cuda=tf.sysconfig.get_build_info().get("cuda_version"))
    elif BACKEND == "jax":
        found.update(jax=jax.__version__, jaxlib=jax.lib.__version__)
    else:
        found.update(torch=torch.__version__, cuda=torch.version.cuda)
    return {name: str(version) for name, version in found.items() if version is not None}


def rows(inputs, labels, index):
    """The examples of one batch, picked where they lie: a NumPy batch would travel to the device at every step."""
    if BACKEND == "tensorflow":
        return tf.gather(inputs, index), tf.gather(labels, index)
    return inputs[index], labels[index]


if BACKEND == "jax":
    # Unjitted, indexing costs JAX ten times as much.
    rows = jax.jit(rows)


def use(device):
    """Memory as it is needed and products in full float32, where the framework would have it otherwise on a GPU.

    Raises RequestError where the device is not there: TensorFlow would compute on the CPU without a word.
    """
    if device == "cpu":
        return
    if BACKEND == "torch":
        if not torch.cuda.is_available():
            raise RequestError("unsupported", "PyTorch %s finds no GPU" % torch.__version__)
    elif BACKEND == "jax":
        try:
            jax.devices(device.partition(":")[0])
        except RuntimeError as error:
            raise RequestError("unsupported", "JAX finds no %s: %s" % (device, error))
        jax.config.update("jax_default_matmul_precision", "float32")
    elif not tf.config.list_physical_devices("GPU"):
        raise RequestError("unsupported", "TensorFlow finds no GPU")
    else:
        for gpu in tf.config.list_physical_devices("GPU"):
            # By default TensorFlow takes all of the GPU's memory at once.
            tf.config.experimental.set_memory_growth(gpu, True)
        tf.config.experimental.enable_tensor_float_32_execution(False)
