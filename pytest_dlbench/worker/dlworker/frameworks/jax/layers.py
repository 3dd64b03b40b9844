"""The layers of a neutral network as JAX functions, and the network they form. Images are channels last."""

import jax
import jax.numpy as jnp
from jax import lax

from dlworker.frameworks.jax.detection import DETECTION
from dlworker.frameworks.jax.precision import in_float32, multiplied, rounded, widened
from dlworker.graph import is_chain, run, wired

# Every layer is a function (layer, parameters, x, key, training) -> x. Batch norm also has a state; recurrent layers
# and layers with several inputs have signatures of their own. One-dimensional arrays such as biases never have 16 bits:
# they are added in float32 and the sum is rounded, so that gradients are summed, and statistics taken, in float32.


def biased(layer, parameters, x):
    return (x + parameters["bias"]).astype(x.dtype) if layer["bias"] else x


def conv2d(layer, parameters, x, key, training):
    x = lax.conv_general_dilated(
        x,
        parameters["weight"],
        layer["stride"],
        layer["padding"],
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=layer.get("groups", 1),
    )
    return biased(layer, parameters, x)


def dense(layer, parameters, x, key, training):
    return biased(layer, parameters, x @ parameters["weight"])


def _windows(layer, x, start, combine):
    window, stride = (1, *layer["window"], 1), (1, *layer["stride"], 1)
    return lax.reduce_window(x, start, combine, window, stride, ((0, 0), *layer["padding"], (0, 0)))


def max_pool(layer, parameters, x, key, training):
    return _windows(layer, x, -jnp.inf, lax.max)


def avg_pool(layer, parameters, x, key, training):
    return _windows(layer, x, 0.0, lax.add) / _windows(layer, jnp.ones_like(x[:1, :, :, :1]), 0.0, lax.add)


def dropout(layer, parameters, x, key, training):
    if not training:
        return x
    keep = 1.0 - layer["rate"]
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0.0)


def local_response_norm(layer, parameters, x, key, training):
    window, around = (1, 1, 1, layer["size"]), (layer["size"] // 2,) * 2
    sums = lax.reduce_window(x * x, 0.0, lax.add, window, (1, 1, 1, 1), ((0, 0), (0, 0), (0, 0), around))
    return x / (layer["k"] + layer["alpha"] / layer["size"] * sums) ** layer["beta"]


def pad_channels(layer, parameters, x, key, training):
    return jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, layer["added"])))


def layer_norm(layer, parameters, x, key, training):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    normalised = (x - mean) * lax.rsqrt(variance + layer["epsilon"])
    return normalised * parameters["scale"] + parameters["shift"]


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "local_response_norm": in_float32(local_response_norm),
    "pad_channels": pad_channels,
    "log_softmax": in_float32(lambda layer, parameters, x, key, training: jax.nn.log_softmax(x)),
    "embedding": lambda layer, parameters, x, key, training: parameters["weight"][x],
    "cut": lambda layer, parameters, x, key, training: x[:, layer["first"] : layer["last"]],
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": in_float32(avg_pool),
    "dropout": dropout,
    "flatten": lambda layer, parameters, x, key, training: x.reshape(len(x), -1),
    "relu": lambda layer, parameters, x, key, training: jax.nn.relu(x),
    "gelu": in_float32(lambda layer, parameters, x, key, training: jax.nn.gelu(x, approximate=False)),
    "gelu_tanh": in_float32(lambda layer, parameters, x, key, training: jax.nn.gelu(x, approximate=True)),
    "layer_norm": in_float32(layer_norm),
    "positions": lambda layer, parameters, x, key, training: x + parameters["weight"],
    "first_step": lambda layer, parameters, x, key, training: x[:, 0],
    "tanh": lambda layer, parameters, x, key, training: jnp.tanh(x),
    "sigmoid": lambda layer, parameters, x, key, training: jax.nn.sigmoid(x),
}


def batch_norm(layer, parameters, state, x, training):
    """Normalised x and the new running statistics."""
    wide = widened(x)
    if training:
        axes = tuple(range(x.ndim - 1))
        mean, variance = wide.mean(axes), wide.var(axes)
        count = x.size // x.shape[-1]
        state = {
            "mean": layer["decay"] * state["mean"] + (1 - layer["decay"]) * mean,
            "variance": layer["decay"] * state["variance"] + (1 - layer["decay"]) * variance * count / (count - 1),
        }
    else:
        mean, variance = state["mean"], state["variance"]
    scale = parameters["scale"] * lax.rsqrt(variance + layer["epsilon"])
    return ((wide - mean) * scale + parameters["shift"]).astype(x.dtype), state


def lstm_cell(units, parameters, state, projected):
    """The state (hidden, cell) after one step; ``projected`` is the input's contribution to the gates."""
    hidden, cell = state
    gates = projected + hidden @ parameters["recurrent"]
    i, f, g, o = jnp.split(gates, 4, axis=1)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(cell), cell


def gru_cell(units, parameters, state, projected):
    (hidden,) = state
    recurrent = hidden @ parameters["recurrent"] + parameters["recurrent_bias"]
    r, z = jnp.split(jax.nn.sigmoid((projected + recurrent)[:, : 2 * units]), 2, axis=1)
    new = jnp.tanh(projected[:, 2 * units :] + r * recurrent[:, 2 * units :])
    return ((1 - z) * new + z * hidden,)


# Layers with several inputs: (layer, values, truth) -> x.
MERGES = {
    "add": lambda layer, values, truth: sum(values[1:], values[0]),
    "concat": lambda layer, values, truth: jnp.concatenate(values, axis=-1),
}
JOINED = {**MERGES, **DETECTION}
# Layers with a state: (layer, parameters, state, x, training) -> x and the new state.
STATEFUL = {"batch_norm": batch_norm}


def attention(layer, parameters, x, lengths):
    """Heads of queries, keys and values that are next to each other, by JAX's function, which XLA does not fuse.

    In float64 by the same products: JAX's function computes its softmax in float32.
    """
    batch, steps, width = x.shape
    query, key, value = jnp.moveaxis(x.reshape(batch, steps, 3, layer["heads"], -1), 2, 0)
    mask = None if lengths is None else (jnp.arange(steps) < lengths[:, None])[:, None, None]
    if x.dtype == jnp.float64:
        heads = _attention_in_double(query, key, value, mask, layer["causal"])
    else:
        heads = jax.nn.dot_product_attention(query, key, value, mask=mask, is_causal=layer["causal"])
    return heads.reshape(batch, steps, width // 3)


def _attention_in_double(query, key, value, mask, is_causal):
    scores = jnp.einsum("btnh,bsnh->bnts", query, key) / query.shape[-1] ** 0.5
    if is_causal:
        scores = jnp.where(jnp.tri(scores.shape[-1], dtype=bool), scores, -jnp.inf)
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf)
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(scores), value)


def tied_dense(layer, parameters, x, lengths):
    return x @ parameters["weight"].T


# Layers that need more of the network than their input: (layer, parameters, x, lengths) -> x. The parameters of a tied
# layer are those of its embedding.
WIRED = {"attention": attention, "tied_dense": tied_dense}
CELLS = {"lstm": (lstm_cell, 2), "gru": (gru_cell, 1)}
KINDS = {*LAYERS, *MERGES, *STATEFUL, *CELLS, *WIRED, *DETECTION}


def recurrent(layer, parameters, x, lengths, start):
    """Outputs of all steps or the last one, and the final state. A sequence keeps its state after its last step."""
    cell, parts = CELLS[layer["kind"]]
    units = layer["units"]
    state = start or (jnp.zeros((len(x), units), x.dtype),) * parts
    # Inside the loop, as in Flax: with one product for all steps before it, XLA on a CPU is slower by a third.
    xs = jnp.moveaxis(x, 1, 0)

    def step(state, now):
        number, values = now
        new = cell(units, parameters, state, values @ parameters["weight"] + parameters["bias"])
        new = tuple(part.astype(x.dtype) for part in new)
        if lengths is not None:
            goes_on = (number < lengths)[:, None]
            new = tuple(jnp.where(goes_on, after, before) for after, before in zip(new, state))
        return new, new[0] if layer["sequence"] else None

    state, outputs = lax.scan(step, state, (jnp.arange(len(xs)), xs))
    return (jnp.moveaxis(outputs, 0, 1) if layer["sequence"] else state[0]), state


def operator_of(layer, dtype):
    """The kind of a layer; for attention, with what computes it."""
    if layer["kind"] != "attention":
        return layer["kind"]
    operator = "two products" if dtype == "float64" else "jax.nn.dot_product_attention (xla)"
    return "attention, heads=%d, causal=%s, %s, not fused" % (layer["heads"], layer["causal"], operator)


def flattens_natively(layers):
    """Whether images are flattened in memory order (row, column, channel) and weights are reordered to match.

    In networks with branches, vectors of different orders could meet: there images are flattened in canonical order.
    """
    return is_chain(layers)


def apply(layers, parameters, states, inputs, key, training, dtype=None, truth=None):
    """Logits and the new batch-norm states. The loop runs when JAX traces it, not in a step.

    ``truth`` is that of a detector's images in training. In mixed precision, ``dtype`` is the type of the operands and
    outputs of layers. Nothing else has 16 bits.
    """
    positions = {layer["name"]: position for position, layer in enumerate(layers)}
    new_states, lengths, ends = dict(states), {}, {}

    def call(layer, values):
        name, kind = layer["name"], layer["kind"]
        own, x = multiplied(kind, parameters.get(layer.get("embedding", name), {}), dtype), values[0]
        if kind in JOINED:
            return JOINED[kind](layer, values, truth)
        if kind in STATEFUL:
            x, new_states[name] = STATEFUL[kind](layer, own, states[name], x, training)
            return x
        if kind in WIRED:
            return rounded(WIRED[kind](layer, own, x, lengths.get(layer.get("lengths"))), dtype)
        if kind in CELLS:
            x, ends[name] = recurrent(layer, own, x, lengths.get(layer.get("lengths")), ends.get(layer.get("start")))
            return x
        if kind == "flatten" and not flattens_natively(layers):
            return jnp.moveaxis(x, -1, 1).reshape(len(x), -1)
        if kind == "embedding" and layer["padding"] is not None:
            lengths[name] = (x != layer["padding"]).sum(1)
        return rounded(LAYERS[kind](layer, own, x, jax.random.fold_in(key, positions[name]), training), dtype)

    return widened(run(wired(layers), rounded(inputs, dtype), call)), new_states
