"""Functions for 16-bit layers of the TensorFlow 2 builder; with wider types they change nothing."""

import tensorflow as tf

MIXED = {"bfloat16": tf.bfloat16, "float16": tf.float16}


def widened(x):
    """x in float32 if it has 16 bits."""
    return tf.cast(x, tf.float32) if x.dtype in MIXED.values() else x


def biased(x, bias):
    """The sum of values and a variable, whose gradient is summed in the variable's type.

    On a CPU TensorFlow sums it in 16 bits: in bfloat16 the sum stagnates at 256 times one summand.
    """
    return tf.nn.bias_add(x, bias) if x.dtype == bias.dtype else _mixed_sum(x, tf.convert_to_tensor(bias))


@tf.custom_gradient
def _mixed_sum(x, bias):
    def gradients(upstream):
        return upstream, tf.reduce_sum(tf.cast(upstream, bias.dtype), list(range(len(x.shape) - 1)))

    return tf.nn.bias_add(x, tf.cast(bias, x.dtype)), gradients
