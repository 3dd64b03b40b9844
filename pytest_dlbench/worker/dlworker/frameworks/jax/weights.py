"""Initial weights of a JAX network: given weights in its native layout, or its own initialisation."""

import jax
import jax.numpy as jnp

from dlworker.frameworks.jax.layers import flattens_natively


def to_native(layers, weights):
    """Canonical arrays in the layout of channels-last JAX, as {layer: {role: array}}."""
    native, image = {}, None
    for layer in layers:
        if layer["kind"] == "flatten" and len(layer["input"]) == 3 and flattens_natively(layers):
            image = layer["input"]
        own = {name.split(".")[1]: array for name, array in weights.items() if name.split(".")[0] == layer["name"]}
        if layer["kind"] in ("conv2d", "grouped_conv2d"):
            own["weight"] = own["weight"].transpose(2, 3, 1, 0)
        elif image and layer["kind"] in ("dense", "batch_norm", "layer_norm"):
            # Flattened images are in row, column, channel order here; the canonical order has the channel first.
            own = {role: _channels_last(array, image) if role != "bias" else array for role, array in own.items()}
        if layer["kind"] == "dense":
            image = None
        if own:
            native[layer["name"]] = own
    return native


def _channels_last(array, image):
    features = array.reshape(*image, -1).transpose(1, 2, 0, 3)
    return features.reshape(array.shape)


def own_weights(layers, key):
    """Flax's default initialisation: LeCun normal weights, orthogonal recurrent weights, zero biases."""
    weights = {}
    for position, layer in enumerate(layers):
        if layer["kind"] in OWN:
            weights[layer["name"]] = OWN[layer["kind"]](layer, jax.random.fold_in(key, position))
    return weights


def _own_conv2d(layer, key):
    inputs, outputs = layer["input"][0] // layer.get("groups", 1), layer["output"][0]
    weight = lecun(key, (*layer["kernel"], inputs, outputs))
    return {"weight": weight, "bias": jnp.zeros(outputs)} if layer["bias"] else {"weight": weight}


def _own_dense(layer, key):
    weight = lecun(key, (layer["input"][-1], layer["output"][-1]))
    return {"weight": weight, "bias": jnp.zeros(layer["output"][-1])} if layer["bias"] else {"weight": weight}


def _own_recurrent(layer, key):
    units, gates = layer["units"], 4 if layer["kind"] == "lstm" else 3
    squares = [orthogonal(jax.random.fold_in(key, gate), (units, units)) for gate in range(gates)]
    own = {"weight": lecun(key, (layer["input"][1], gates * units)), "recurrent": jnp.hstack(squares)}
    biases = ("bias",) if layer["kind"] == "lstm" else ("bias", "recurrent_bias")
    return {**own, **{bias: jnp.zeros(gates * units) for bias in biases}}


lecun, orthogonal = jax.nn.initializers.lecun_normal(), jax.nn.initializers.orthogonal()
embed = jax.nn.initializers.variance_scaling(1.0, "fan_in", "normal", out_axis=0)
OWN = {
    "conv2d": _own_conv2d,
    "grouped_conv2d": _own_conv2d,
    "dense": _own_dense,
    "embedding": lambda layer, key: {"weight": embed(key, (layer["vocabulary"], layer["output"][-1]))},
    "batch_norm": lambda layer, key: {"scale": jnp.ones(layer["input"][0]), "shift": jnp.zeros(layer["input"][0])},
    "layer_norm": lambda layer, key: {"scale": jnp.ones(layer["input"][-1]), "shift": jnp.zeros(layer["input"][-1])},
    "positions": lambda layer, key: {"weight": 0.02 * jax.random.normal(key, layer["input"])},
    "lstm": _own_recurrent,
    "gru": _own_recurrent,
}


def first_states(layers, dtype):
    """Mean 0 and variance 1 for every batch norm."""
    sizes = {layer["name"]: layer["input"][0] for layer in layers if layer["kind"] == "batch_norm"}
    return {name: {"mean": jnp.zeros(size, dtype), "variance": jnp.ones(size, dtype)} for name, size in sizes.items()}
