"""Where Chainer keeps its arrays: in NumPy or iDeep on a processor, in CuPy on a GPU."""

import chainer
import numpy as np
from chainer.backends import cuda, intel64

from dlworker.protocol import RequestError


def device_of(device):
    """Chainer's own device for "cpu", "gpu" or "gpu:N"; raises RequestError if there is no such GPU."""
    if device == "cpu":
        return chainer.get_device("@numpy" if chainer.config.use_ideep == "never" else "@intel64")
    if not cuda.available:
        message = "device %r: Chainer finds no GPU without CuPy: %s" % (device, cuda._resolution_error)
        raise RequestError("unsupported", message)
    number, count = int(device.partition(":")[2] or 0), _count(device)
    if number >= count:
        raise RequestError("unsupported", "device %r: CuPy %s sees %d GPUs" % (device, cuda.cupy.__version__, count))
    return chainer.get_device("@cupy:%d" % number)


def holds_data(device):
    """The device for examples: iDeep's arrays have no fancy indices, and its functions take NumPy's."""
    return chainer.get_device("@numpy") if isinstance(device, intel64.Intel64Device) else device


def _count(device):
    try:
        return cuda.cupy.cuda.runtime.getDeviceCount()
    except cuda.cupy.cuda.runtime.CUDARuntimeError as error:
        raise RequestError("unsupported", "device %r: CuPy %s sees no GPU: %s" % (device, cuda.cupy.__version__, error))


def name_of(device):
    """The model of a GPU, as CUDA reports it; empty for a processor."""
    if not isinstance(device, cuda.GpuDevice):
        return ""
    return cuda.cupy.cuda.runtime.getDeviceProperties(device.device.id)["name"].decode()


def used_bytes(device):
    """The memory that Chainer's pool holds on a GPU, None on a processor.

    The pool keeps what it once allocated for later arrays, so this is its peak.
    """
    return cuda.memory_pool.total_bytes() if isinstance(device, cuda.GpuDevice) else None


def mark(device):
    """A point in the queue of a GPU's work, None on a processor."""
    if not isinstance(device, cuda.GpuDevice):
        return None
    event = cuda.cupy.cuda.Event()
    event.record()
    return event


def seconds_between(device, first, last):
    """The seconds between two such points that are done; None on a processor, which has none."""
    return cuda.cupy.cuda.get_elapsed_time(first, last) / 1e3 if isinstance(device, cuda.GpuDevice) else None


class Pinned(np.ndarray):
    """An array in memory of the host from which a GPU copies without the processor."""


def pinned(device, arrays, types):
    """Copies of arrays in such memory, of these types, for a GPU; the arrays themselves for another device."""
    if not isinstance(device, cuda.GpuDevice):
        return arrays
    found = []
    # Each thread has its own device in use.
    with device.device:
        for array, dtype in zip(arrays, map(np.dtype, types)):
            memory = cuda.cupy.cuda.alloc_pinned_memory(max(1, array.size * dtype.itemsize))
            found.append(np.frombuffer(memory, dtype, array.size).reshape(array.shape).view(Pinned))
            found[-1][...] = array
    return found


def sent(device, arrays, in_flight):
    """Arrays on the device. Copies of pinned ones are queued with its steps, and keep them until they are done."""
    if not isinstance(arrays[0], Pinned):
        return [device.send(array) for array in arrays]
    cupy, made = cuda.cupy, []
    for array in arrays:
        made.append(cupy.empty(array.shape, array.dtype))
        made[-1].set(array, stream=cupy.cuda.get_current_stream())
    event = cupy.cuda.Event(disable_timing=True)
    event.record()
    in_flight.keep(arrays, lambda: event.done)
    return made


def seed_generators(device, seed):
    """Seed what initialisers and dropout draw from: NumPy's own generator, and CuPy's on a GPU."""
    np.random.seed(seed)
    if isinstance(device, cuda.GpuDevice):
        cuda.cupy.random.seed(seed)


def libraries():
    """The versions of CuPy and of the libraries that it was loaded with; none without it."""
    if not cuda.available:
        return {}
    cupy = cuda.cupy
    found = {"cupy": cupy.__version__, "cuda": _version(cupy.cuda.runtime.runtimeGetVersion())}
    driver = cupy.cuda.runtime.driverGetVersion()
    if driver:  # 0 without one
        found["cuda-driver"] = _version(driver)
    if cuda.cudnn_enabled:
        found["cudnn"] = str(cuda.libcudnn.getVersion())
    return found


def _version(number):
    """The text of a version such as 12090."""
    return "%d.%d" % (number // 1000, number % 1000 // 10)
