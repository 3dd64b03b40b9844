"""Initial weights of the TensorFlow 2 builder: canonical arrays in TensorFlow's layout, or its own initialisation."""

import numpy as np
import tensorflow as tf

from dlworker.graph import is_chain


def keeps_channels_last(layers):
    """Whether images may be flattened in memory order, because the next dense layer's weights can be reordered."""
    return is_chain(layers) and any(layer["kind"] == "dense" for layer in layers)


def to_native(layers, weights):
    """Canonical arrays in the layout of channels-last TensorFlow, as {layer: {role: array}}."""
    native, image = {}, None
    for layer in layers:
        if layer["kind"] == "flatten" and len(layer["input"]) == 3 and keeps_channels_last(layers):
            image = layer["input"]
        own = {name.split(".")[1]: array for name, array in weights.items() if name.split(".")[0] == layer["name"]}
        if layer["kind"] in ("conv2d", "grouped_conv2d"):
            own["weight"] = own["weight"].transpose(2, 3, 1, 0)
        elif layer["kind"] == "lstm":
            own = {role: _input_cell_forget_output(array) for role, array in own.items()}
        elif image and layer["kind"] in ("dense", "batch_norm", "layer_norm"):
            # Flattened images are in row, column, channel order here; the canonical order has the channel first.
            own = {role: _channels_last(array, image) if role != "bias" else array for role, array in own.items()}
        if layer["kind"] == "dense":
            image = None
        native[layer["name"]] = own
    return native


def variable(layer, arrays, role):
    """A trainable array under its canonical name, or None if the layer has none."""
    return tf.Variable(arrays[role], name="%s.%s" % (layer["name"], role)) if role in arrays else None


def _channels_last(array, image):
    features = array.reshape(image + [-1]).transpose(1, 2, 0, 3)
    return features.reshape(array.shape)


def _input_cell_forget_output(array):
    """TensorFlow's order of gates; the canonical one has the forget gate before the cell."""
    i, f, g, o = np.split(array, 4, axis=-1)
    return np.concatenate([i, g, f, o], axis=-1)


def own_weights(layers, seed):
    """The defaults of tf.compat.v1.get_variable and Keras: Glorot uniform weights, zero biases.

    As in Keras, recurrent weights are orthogonal, the bias of an LSTM's forget gate is 1, and embeddings are uniform
    in ±0.05.
    """
    places = {layer["name"]: (layer, [seed, place]) for place, layer in enumerate(layers)}
    return {name: OWN.get(layer["kind"], lambda *_: {})(layer, own_seed) for name, (layer, own_seed) in places.items()}


def _own_weighted(layer, seed):
    window, channels = list(layer.get("kernel", ())), layer["input"][0 if "kernel" in layer else -1]
    outputs = layer["output"][0 if "kernel" in layer else -1]
    own = {"weight": _glorot_uniform(window + [channels // layer.get("groups", 1), outputs], seed)}
    return dict(own, bias=tf.zeros(outputs)) if layer["bias"] else own


def _own_batch_norm(layer, seed):
    return {"scale": tf.ones(layer["input"][0]), "shift": tf.zeros(layer["input"][0])}


def _own_layer_norm(layer, seed):
    return {"scale": tf.ones(layer["input"][-1]), "shift": tf.zeros(layer["input"][-1])}


def _own_positions(layer, seed):
    return {"weight": tf.random.stateless_uniform(layer["input"], seed, -0.05, 0.05)}


def _own_embedding(layer, seed):
    shape = [layer["vocabulary"], layer["output"][-1]]
    return {"weight": tf.random.stateless_uniform(shape, seed, -0.05, 0.05)}


def _own_lstm(layer, seed):
    return dict(_own_recurrent(layer, 4, seed), bias=tf.repeat([0.0, 0.0, 1.0, 0.0], layer["units"]))


def _own_gru(layer, seed):
    biases = {role: tf.zeros(3 * layer["units"]) for role in ("bias", "recurrent_bias")}
    return dict(_own_recurrent(layer, 3, seed), **biases)


def _own_recurrent(layer, gates, seed):
    units = layer["units"]
    # A seed consists of the run's number and the layer's.
    recurrent = _orthogonal(units, gates * units, [seed[0], -1 - seed[1]])
    return {"weight": _glorot_uniform([layer["input"][-1], gates * units], seed), "recurrent": recurrent}


def _glorot_uniform(shape, seed):
    limit = np.sqrt(6.0 / (np.prod(shape[:-2]) * (shape[-2] + shape[-1])))
    return tf.random.stateless_uniform(shape, seed, -limit, limit)


def _orthogonal(rows, columns, seed):
    """Rows of length 1 that are orthogonal to each other."""
    q, r = tf.linalg.qr(tf.random.stateless_normal([columns, rows], seed))
    return tf.transpose(q * tf.sign(tf.linalg.diag_part(r)))


OWN = {
    "conv2d": _own_weighted,
    "grouped_conv2d": _own_weighted,
    "dense": _own_weighted,
    "batch_norm": _own_batch_norm,
    "layer_norm": _own_layer_norm,
    "positions": _own_positions,
    "embedding": _own_embedding,
    "lstm": _own_lstm,
    "gru": _own_gru,
}
