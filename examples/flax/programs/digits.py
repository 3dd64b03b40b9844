"""A network of Flax, trained with Optax, learns handwritten digits; JAX compiles the step."""

import jax
import numpy as np
import optax
from flax import nnx
from inputs import TRAINED_ON, digits, prepared

BATCH = 64


class Network(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(64, 512, rngs=rngs)
        self.second = nnx.Linear(512, 512, rngs=rngs)
        self.last = nnx.Linear(512, 10, rngs=rngs)

    def __call__(self, inputs):
        return self.last(nnx.relu(self.second(nnx.relu(self.first(inputs)))))


@nnx.jit
def trained(model, optimizer, inputs, targets):
    def loss_of(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(inputs), targets).mean()

    loss, gradients = nnx.value_and_grad(loss_of)(model)
    optimizer.update(model, gradients)
    return loss


def build(run):
    images, labels = digits()
    random = np.random.default_rng(run.seed)
    place = jax.devices("cpu" if run.device == "cpu" else "gpu")[0]
    model = Network(nnx.Rngs(run.seed))
    optimizer = nnx.Optimizer(model, optax.sgd(run.parameters["rate"]), wrt=nnx.Param)

    def step(number):
        chosen = random.integers(TRAINED_ON, size=BATCH)
        inputs, targets = jax.device_put((prepared(images[chosen]), labels[chosen]), place)
        # Reading the loss waits for it, which JAX would otherwise compute in the background.
        return float(trained(model, optimizer, inputs, targets))

    def evaluate():
        found = np.asarray(model(prepared(images[TRAINED_ON:]))).argmax(axis=1)
        return {"accuracy": (found == labels[TRAINED_ON:]).mean()}

    return {"step": step, "evaluate": evaluate, "samples_per_step": BATCH}
