"""What the layers of the TensorFlow 2 builder take care of in 16 bits; in others these functions change nothing."""

import tensorflow as tf

MIXED = {"bfloat16": tf.bfloat16, "float16": tf.float16}


def widened(x):
    """x in float32, where it has 16 bits."""
    return tf.cast(x, tf.float32) if x.dtype in MIXED.values() else x


def biased(x, bias):
    """The sum of values and a variable. Its gradient by the variable is added up in the type of that.

    On a CPU TensorFlow's own is added up in 16 bits: in bfloat16 it is never more than 256 times what it adds up.
    """
    return tf.nn.bias_add(x, bias) if x.dtype == bias.dtype else _mixed_sum(x, tf.convert_to_tensor(bias))


@tf.custom_gradient
def _mixed_sum(x, bias):
    def gradients(upstream):
        return upstream, tf.reduce_sum(tf.cast(upstream, bias.dtype), list(range(len(x.shape) - 1)))

    return tf.nn.bias_add(x, tf.cast(bias, x.dtype)), gradients
