"""What Lasagne 0.1 lacks: a module of Theano's that it imports, and layers of its own kind."""

import sys
import types
from functools import partial

# Theano must be told of its BLAS before it is imported: its builder does that, which Lasagne's imports first.
from dlworker.frameworks.theano import layers as theano_layers

# isort: split
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation


def max_pool_2d(images, ds, ignore_border, st, padding, mode):
    """What Lasagne calls for every pooling, in a module that Theano 1.0 no longer has."""
    return (theano_layers.FirstMaxPool if mode == "max" else theano_layers.pool.Pool)(ignore_border, mode)(
        images, ds, st, padding
    )


downsample = types.ModuleType("theano.tensor.signal.downsample")
downsample.max_pool_2d = max_pool_2d
sys.modules[downsample.__name__] = downsample

import lasagne  # noqa: E402 - it imports the module above
from lasagne.layers import Conv2DLayer, Layer, MergeLayer  # noqa: E402


class BatchNormLayer(Layer):
    """Lasagne has one since 0.2. This one keeps the unbiased variance, that one the inverse standard deviation."""

    def __init__(self, incoming, epsilon, decay, gamma, beta, **kwargs):
        super().__init__(incoming, **kwargs)
        self.epsilon, self.decay = epsilon, decay
        shape = (self.input_shape[1],)
        self.gamma = self.add_param(gamma, shape, "gamma", regularizable=False)
        self.beta = self.add_param(beta, shape, "beta", regularizable=False)
        self.mean = self.add_param(lasagne.init.Constant(0), shape, "mean", trainable=False, regularizable=False)
        self.variance = self.add_param(
            lasagne.init.Constant(1), shape, "variance", trainable=False, regularizable=False
        )

    def get_output_for(self, input, deterministic=False, **kwargs):  # noqa: A002 - Lasagne's name
        mean, variance = self.mean, self.variance
        if not deterministic:
            axes = [axis for axis in range(input.ndim) if axis != 1]
            mean, variance = input.mean(axes), input.var(axes)
            count = T.cast(input.size // self.input_shape[1], input.dtype)
            self.moved = [
                (self.mean, self.decay * self.mean + (1 - self.decay) * mean),
                (self.variance, self.decay * self.variance + (1 - self.decay) * variance * count / (count - 1)),
            ]
        pattern = ["x", 0] + ["x"] * (input.ndim - 2)
        vectors = (mean, variance, self.gamma, self.beta)
        mean, variance, gamma, beta = (vector.dimshuffle(pattern) for vector in vectors)
        return (input - mean) * (gamma / T.sqrt(variance + self.epsilon)) + beta


class GroupedConv2DLayer(Conv2DLayer):
    """Lasagne's own has one group."""

    def __init__(self, incoming, groups, *args, **kwargs):
        self.groups = groups
        super().__init__(incoming, *args, convolution=partial(T.nnet.conv2d, num_groups=groups), **kwargs)

    def get_W_shape(self):  # noqa: N802 - Lasagne's name
        filters, channels, rows, columns = super().get_W_shape()
        return filters, channels // self.groups, rows, columns


class RecurrentLayer(MergeLayer):
    """A recurrent layer that Lasagne lacks, with arrays in the canonical layout.

    Lasagne's GRU has no bias of its own inside of what the reset gate multiplies with, and its LSTM tells nobody the
    cell in which another could start.
    """

    def __init__(self, layer, incoming, given, mask_input, start):
        incomings = {"x": incoming, "goes_on": mask_input, "start": start}
        self.roles = [role for role, below in incomings.items() if below is not None]
        super().__init__([incomings[role] for role in self.roles], name=layer["name"])
        self.layer, self.begins_in = layer, start
        units, gates = layer["units"], 4 if layer["kind"] == "lstm" else 3
        shapes = {"weight": (layer["input"][1], gates * units), "recurrent": (units, gates * units)}
        shapes.update((bias, (gates * units,)) for bias in ("bias", "recurrent_bias")[: 5 - gates])
        self.own = {}
        for role, shape in shapes.items():
            initial = lasagne.init.Constant(0.0) if "bias" in role else lasagne.init.Normal(0.1)
            self.own[role] = self.add_param(given.get(role, initial), shape, role)

    def get_output_shape_for(self, input_shapes):
        batch, steps, _ = input_shapes[0]
        return (batch, steps, self.layer["units"]) if self.layer["sequence"] else (batch, self.layer["units"])

    def get_output_for(self, inputs, **kwargs):
        found = dict(zip(self.roles, inputs))
        # Of the layer to start in it is the whole state that counts, which that layer keeps.
        start = self.begins_in and self.begins_in.ends
        output, self.ends = theano_layers.recurrent(self.layer, self.own, found["x"], found.get("goes_on"), start)
        return output


def rectify(x):
    """Lasagne's own has a gradient of one half at 0, which is where blank images are before the first update."""
    return x * (x > 0)
