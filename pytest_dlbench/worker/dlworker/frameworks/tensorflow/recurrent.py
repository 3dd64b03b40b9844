"""The recurrent layers of the TensorFlow 2 builder: loops over the steps of a sequence, or one operator."""

import tensorflow as tf

from dlworker.frameworks.tensorflow.precision import biased
from dlworker.frameworks.tensorflow.weights import variable


class Recurrent(tf.Module):
    """Called with (x, lengths, start), the latter two possibly None; returns its output and its last state.

    A state is a tuple that begins with the hidden state. After its last token a sequence keeps its state. ``weights``
    are computed before the loop, in the variables' own type, so that the gradients of the steps are summed in it.
    """

    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.weight, self.recurrent = variable(layer, arrays, "weight"), variable(layer, arrays, "recurrent")
        self.bias, self.recurrent_bias = variable(layer, arrays, "bias"), variable(layer, arrays, "recurrent_bias")
        self.units, self.gives_sequence = layer["units"], layer["sequence"]

    def __call__(self, x, lengths, start):
        batch, steps, features = x.shape
        values = tf.TensorArray(x.dtype, steps, element_shape=[batch, features]).unstack(tf.transpose(x, [1, 0, 2]))
        weights = self.weights()
        # Only the requested outputs: XLA copies all of them in every step.
        outputs = (tf.TensorArray(x.dtype, steps, element_shape=[batch, self.units]),) * self.gives_sequence

        def step(number, state, outputs):
            new = self.cell(values.read(number), state, weights)
            if lengths is not None:
                goes_on = (number < lengths)[:, tf.newaxis]
                new = tuple(tf.where(goes_on, after, before) for after, before in zip(new, state))
            return number + 1, new, tuple(array.write(number, new[0]) for array in outputs)

        first = 0, self.begin(x, start), outputs
        _, state, outputs = tf.while_loop(lambda number, *_: number < steps, step, first, maximum_iterations=steps)
        return (tf.transpose(outputs[0].stack(), [1, 0, 2]) if self.gives_sequence else state[0]), state

    def begin(self, x, start):
        return start or (tf.zeros([x.shape[0], self.units], x.dtype),) * self.parts


class LSTM(Recurrent):
    """Gates in the order input, cell, forget, output, from one product."""

    parts = 2

    def weights(self):
        return tf.concat([self.weight, self.recurrent], axis=0)

    def cell(self, x, state, weights):
        hidden, cell = state
        gates = biased(tf.matmul(tf.concat([x, hidden], axis=1), tf.cast(weights, x.dtype)), self.bias)
        i, g, f, o = tf.split(gates, 4, axis=1)
        cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(cell), cell


class FusedLSTM(LSTM):
    """All steps in one operator, only for float32; XLA does not compile it.

    In float16 it takes four times as long as the loop and sums the gradients of all steps in 16 bits.
    """

    def __call__(self, x, lengths, start):
        batch, steps, _ = x.shape
        hidden, cell = self.begin(x, start)
        none = tf.zeros([self.units], x.dtype)
        # Not BlockLSTMV2: its registered gradient is that of BlockLSTM, whose gates are in another order.
        states = tf.raw_ops.BlockLSTM(
            seq_len_max=steps,
            x=tf.transpose(x, [1, 0, 2]),
            cs_prev=cell,
            h_prev=hidden,
            w=self.weights(),
            wci=none,
            wcf=none,
            wco=none,
            b=self.bias,
            forget_bias=0.0,
            cell_clip=-1.0,
        )
        if lengths is None:
            state = states.h[-1], states.cs[-1]
        else:
            # Steps after a sequence's last token are computed but not used.
            ends = tf.stack([lengths - 1, tf.range(batch)], axis=1)
            state = tf.gather_nd(states.h, ends), tf.gather_nd(states.cs, ends)
        return (tf.transpose(states.h, [1, 0, 2]) if self.gives_sequence else state[0]), state


class GRU(Recurrent):
    parts = 1

    def weights(self):
        return self.weight, self.recurrent

    def cell(self, x, state, weights):
        (hidden,) = state
        weight, recurrent = [tf.cast(each, x.dtype) for each in weights]
        inner = 2 * self.units
        given = biased(tf.matmul(x, weight), self.bias)
        recurrent = biased(tf.matmul(hidden, recurrent), self.recurrent_bias)
        r, z = tf.split(tf.sigmoid(given[:, :inner] + recurrent[:, :inner]), 2, axis=1)
        new = tf.tanh(given[:, inner:] + r * recurrent[:, inner:])
        return ((1 - z) * new + z * hidden,)
