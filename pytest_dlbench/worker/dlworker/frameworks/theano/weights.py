"""Initial weights of a Theano network."""

import numpy as np


def own_weights(layers, random):
    """The initial weights of Theano's tutorials by canonical name: Theano has no layers, so no defaults either.

    Uniform weights (Glorot and Bengio), orthogonal recurrent weights for each gate, small vectors for tokens.
    """
    for layer in layers:
        if layer["kind"] in OWN:
            for role, array in OWN[layer["kind"]](layer, random).items():
                yield "%s.%s" % (layer["name"], role), array


def _own_conv2d(layer, random):
    inputs, outputs, groups = layer["input"][0], layer["output"][0], layer.get("groups", 1)
    shape = [outputs, inputs // groups] + layer["kernel"]
    own = {"weight": _glorot(random, (inputs + outputs) // groups * np.prod(layer["kernel"]), shape)}
    return dict(own, bias=np.zeros(outputs)) if layer["bias"] else own


def _own_dense(layer, random):
    inputs, outputs = layer["input"][-1], layer["output"][-1]
    own = {"weight": _glorot(random, inputs + outputs, [inputs, outputs])}
    return dict(own, bias=np.zeros(outputs)) if layer["bias"] else own


def _own_recurrent(layer, random):
    features, units, gates = layer["input"][1], layer["units"], 4 if layer["kind"] == "lstm" else 3
    squares = [np.linalg.svd(random.normal(size=(units, units)))[0] for _ in range(gates)]
    own = {"weight": _glorot(random, features + units, [features, gates * units]), "recurrent": np.hstack(squares)}
    for bias in ("bias", "recurrent_bias")[: 5 - gates]:
        own[bias] = np.zeros(gates * units)
    return own


def _glorot(random, fans, shape):
    bound = np.sqrt(6.0 / fans)
    return random.uniform(-bound, bound, shape)


OWN = {
    "conv2d": _own_conv2d,
    "grouped_conv2d": _own_conv2d,
    "dense": _own_dense,
    "embedding": lambda layer, random: {
        "weight": 0.01 * random.uniform(size=[layer["vocabulary"], layer["output"][1]])
    },
    "batch_norm": lambda layer, random: {"scale": np.ones(layer["input"][0]), "shift": np.zeros(layer["input"][0])},
    "lstm": _own_recurrent,
    "gru": _own_recurrent,
}


def first_statistics(layers):
    for layer in layers:
        if layer["kind"] == "batch_norm":
            yield layer["name"] + ".mean", np.zeros(layer["input"][0])
            yield layer["name"] + ".variance", np.ones(layer["input"][0])
