"""tartu-mnist-cnn in plain JAX with optax, as their documentation writes it. Prints the steps' seconds.

The CPU threads are NPROC's, which XLA reads when this Python starts.
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


def conv(x, layer):
    x = lax.conv_general_dilated(x, layer["w"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return x + layer["b"]


def dropout(key, x, rate):
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


def predict(params, x, key):
    key1, key2 = jax.random.split(key)
    x = jax.nn.relu(conv(x, params["conv1"]))
    x = jax.nn.relu(conv(x, params["conv2"]))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = dropout(key1, x, 0.25).reshape(len(x), -1)
    x = jax.nn.relu(x @ params["fc1"]["w"] + params["fc1"]["b"])
    return dropout(key2, x, 0.5) @ params["fc2"]["w"] + params["fc2"]["b"]


def initial(key, shapes):
    start = jax.nn.initializers.lecun_normal()
    keys = iter(jax.random.split(key, len(shapes)))
    return {name: {"w": start(next(keys), shape), "b": jnp.zeros(shape[-1])} for name, shape in shapes.items()}


def main(asked):
    kind, _, which = asked["device"].partition(":")
    jax.config.update("jax_default_device", jax.devices(kind)[int(which or 0)])
    images = np.load(asked["images"]).transpose(0, 2, 3, 1)
    data = jnp.asarray(images), jnp.asarray(np.load(asked["labels"]).astype(np.int32))
    order = np.load(asked["order"]).astype(np.int32)
    height, width, channels = images.shape[1:]
    features = 64 * ((height - 4) // 2) * ((width - 4) // 2)
    shapes = {"conv1": (3, 3, channels, 32), "conv2": (3, 3, 32, 64), "fc1": (features, 128), "fc2": (128, 10)}
    params = initial(jax.random.key(1), shapes)
    optimizer = optax.sgd(asked["learning_rate"], momentum=asked["momentum"])
    opt_state = optimizer.init(params)

    def loss_fn(params, x, y, key):
        return optax.softmax_cross_entropy_with_integer_labels(predict(params, x, key), y).mean()

    def update(params, opt_state, key, data, index):
        images, labels = data
        key, own = jax.random.split(key)
        loss, grads = jax.value_and_grad(loss_fn)(params, images[index], labels[index], own)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, key, loss

    update = jax.jit(update, donate_argnums=(0, 1))
    key = jax.random.key(2)
    seconds = []
    for number in range(asked["steps"]):
        began = time.monotonic()
        params, opt_state, key, loss = update(params, opt_state, key, data, order[number])
        float(loss)
        seconds.append(time.monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
