"""Settings of execution in TensorFlow."""

import os

import tensorflow as tf

# The builder's images are channels last, whatever is set. Before TensorFlow is imported, the driver chooses the library
# by a variable.
EXECUTION = ("autotune", "channels_last", "deterministic", "library=eigen", "library=onednn", "tf32")


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off: before TensorFlow's first operator."""
    if "deterministic" in execution:
        tf.config.experimental.enable_op_determinism()
    if device == "cpu":
        return
    # Its kernels read it when they first run. By default they time cuDNN's algorithms.
    os.environ["TF_CUDNN_USE_AUTOTUNE"] = "1" if "autotune" in execution else "0"
    # By default it rounds the operands of products to 10 binary digits (TF32).
    tf.config.experimental.enable_tensor_float_32_execution("tf32" in execution)
    if "channels_last" in execution:
        # By default its graph optimiser makes convolutions on GPUs channels first.
        tf.config.optimizer.set_experimental_options({"layout_optimizer": False})
