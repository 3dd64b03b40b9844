"""A small LSTM classifier in plain JAX with optax and lax.scan, as their documentation writes it.

The CPU threads are NPROC's, which XLA reads when this Python starts. Prints the steps' seconds.
"""

import json
import sys
import time

# This folder, where Python looks first, has files that are named like frameworks.
sys.path.pop(0)

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax


def predict(params, tokens):
    x = params["embedding"][tokens]

    def step(carry, x_t):
        h, c = carry
        gates = x_t @ params["w"] + h @ params["u"] + params["b"]
        i, f, g, o = jnp.split(gates, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), None

    zeros = jnp.zeros((len(tokens), 100))
    (h, _), _ = lax.scan(step, (zeros, zeros), x.transpose(1, 0, 2))
    return h @ params["fc"]["w"] + params["fc"]["b"]


def initial(key):
    start = jax.nn.initializers.lecun_normal()
    keys = iter(jax.random.split(key, 4))
    return {
        "embedding": 0.05 * jax.random.normal(next(keys), (5000, 32)),
        "w": start(next(keys), (32, 400)),
        "u": start(next(keys), (100, 400)),
        "b": jnp.zeros(400),
        "fc": {"w": start(next(keys), (100, 10)), "b": jnp.zeros(10)},
    }


def main(asked):
    kind, _, which = asked["device"].partition(":")
    jax.config.update("jax_default_device", jax.devices(kind)[int(which or 0)])
    data = jnp.asarray(np.load(asked["images"])), jnp.asarray(np.load(asked["labels"]).astype(np.int32))
    order = np.load(asked["order"]).astype(np.int32)
    params = initial(jax.random.key(1))
    optimizer = optax.sgd(asked["learning_rate"], momentum=asked["momentum"])
    opt_state = optimizer.init(params)

    def loss_fn(params, x, y):
        return optax.softmax_cross_entropy_with_integer_labels(predict(params, x), y).mean()

    def update(params, opt_state, data, index):
        tokens, labels = data
        loss, grads = jax.value_and_grad(loss_fn)(params, tokens[index], labels[index])
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    update = jax.jit(update, donate_argnums=(0, 1))
    seconds = []
    for number in range(asked["steps"]):
        began = time.monotonic()
        params, opt_state, loss = update(params, opt_state, data, order[number])
        float(loss)
        seconds.append(time.monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
