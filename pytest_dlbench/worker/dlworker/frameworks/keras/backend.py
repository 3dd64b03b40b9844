"""What differs between the backends of Keras 3: threads, versions, devices, and selecting a batch."""

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
    raise RequestError("unsupported", "the Keras builder has no backend %r" % BACKEND)


def configure(threads):
    """Set the backend's threads; XLA's CPU pool reads NPROC, which the driver set before this Python started."""
    if BACKEND == "tensorflow":
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    elif BACKEND == "torch":
        torch.set_num_threads(threads)


def threads():
    """Threads inside one operator, or None on JAX, which does not report the size of its pool."""
    if BACKEND == "tensorflow":
        return tf.config.threading.get_intra_op_parallelism_threads()
    return torch.get_num_threads() if BACKEND == "torch" else None


def versions():
    """Keras, its backend and, if any, the CUDA that the backend was built with."""
    found = {"keras": keras.__version__}
    if BACKEND == "tensorflow":
        found.update(tensorflow=tf.__version__, cuda=tf.sysconfig.get_build_info().get("cuda_version"))
    elif BACKEND == "jax":
        found.update(jax=jax.__version__, jaxlib=jax.lib.__version__)
    else:
        found.update(torch=torch.__version__, cuda=torch.version.cuda)
    return {name: str(version) for name, version in found.items() if version is not None}


def staged(arrays, device):
    """A batch as tensors: of PyTorch on the host, pinned for a GPU, of the other backends on the device.

    The devices of these copy by themselves what another thread converts.
    """
    if BACKEND == "torch":
        tensors = [torch.from_numpy(array) for array in arrays]
        return tensors if device == "cpu" else [tensor.pin_memory() for tensor in tensors]
    with keras.device(device):
        return [keras.ops.convert_to_tensor(array) for array in arrays]


def fed(batch, device):
    """The tensors of a staged batch on the device; copies from pinned memory are queued with its work."""
    if BACKEND == "torch" and device != "cpu":
        return [tensor.to(torch.device(device.replace("gpu", "cuda")), non_blocking=True) for tensor in batch]
    return batch


def rows(inputs, labels, index):
    """The examples of one batch, selected on the device: a NumPy batch would be copied to it at every step."""
    if BACKEND == "tensorflow":
        return tf.gather(inputs, index), tf.gather(labels, index)
    return inputs[index], labels[index]


if BACKEND == "jax":
    # Without jit, indexing takes JAX ten times as long.
    rows = jax.jit(rows)


def kind_of(array):
    """("gpu" or "cpu", its name) of the device that holds an array of the backend."""
    if BACKEND == "torch":
        is_gpu = array.device.type == "cuda"
        return ("gpu", torch.cuda.get_device_name(array.device)) if is_gpu else (array.device.type, "")
    if BACKEND == "jax":
        # All those of several workers are of one kind.
        device = min(array.devices(), key=lambda device: device.id)
        return "cpu" if device.platform == "cpu" else "gpu", device.device_kind
    if ":GPU:" not in array.device.upper():
        return "cpu", ""
    details = tf.config.experimental.get_device_details(tf.config.get_visible_devices("GPU")[0])
    return "gpu", details.get("device_name", "")


def peak_bytes(array):
    """The peak of the backend's allocator on the GPU that holds an array; None on a processor."""
    if kind_of(array)[0] == "cpu":
        return None
    if BACKEND == "torch":
        return torch.cuda.max_memory_allocated(array.device)
    if BACKEND == "jax":
        (device,) = array.devices()
        return device.memory_stats()["peak_bytes_in_use"]
    return tf.config.experimental.get_memory_info(array.device)["peak"]


def use(device):
    """Select the device; on a GPU, allocate memory as needed.

    Raises RequestError if the device is missing: TensorFlow would silently compute on the CPU.
    """
    if device == "cpu":
        return
    if BACKEND == "torch":
        if not torch.cuda.is_available():
            raise RequestError("unsupported", "PyTorch %s found no GPU" % torch.__version__)
    elif BACKEND == "jax":
        try:
            jax.devices(device.partition(":")[0])
        except RuntimeError as error:
            raise RequestError("unsupported", "JAX found no %s: %s" % (device, error))
    elif not tf.config.list_physical_devices("GPU"):
        raise RequestError("unsupported", "TensorFlow found no GPU")
    else:
        for gpu in tf.config.list_physical_devices("GPU"):
            # By default TensorFlow allocates all of the GPU's memory at once.
            tf.config.experimental.set_memory_growth(gpu, True)


def own(device):
    """The name by which Keras knows a device of this process; on JAX, those of several workers have one numbering."""
    if BACKEND != "jax":
        return device
    platform, _, number = device.partition(":")
    return "%s:%d" % (platform, jax.local_devices(backend=platform)[int(number or 0)].id)
