"""Softmax regression in plain NumPy, with exact gradients: the smallest builder that fulfils the whole contract.

Flatten and dense layers in any order, SGD as the recipe has it. It runs wherever NumPy does, Python 3.6 included.
"""

import numpy as np

SUPPORTS = {"dense", "flatten", "pipeline", "sgd", "softmax_cross_entropy"}


def configure(threads):
    """Does nothing: NumPy's threads are set before Python starts."""


def threads():
    """None: NumPy does not report them."""
    return


def versions():
    """Empty: every answer includes NumPy anyway."""
    return {"numpy_softmax": "1"}


class Trainer:
    """A list of matrices, and SGD's state for each."""

    def __init__(self, network, recipe, weights, device, seed):
        self.layers = network["layers"]
        self.settings = recipe["optimizer"]
        source = _own(self.layers, seed) if weights is None else weights
        # An .npz file returns a fresh array at each access, but these are updated in place.
        self.arrays = {name: np.array(source[name], dtype=recipe["precision"]) for name in _names(self.layers)}
        self.velocities = {name: np.zeros_like(array) for name, array in self.arrays.items()}

    def parameters(self):
        return {name: array.shape for name, array in self.arrays.items()}

    def array(self, name):
        return self.arrays[name]

    def describe(self):
        return "\n".join("%s: %s" % (layer["name"], layer["kind"]) for layer in self.layers)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order = np.array(order)

    def feed(self, inputs, labels):
        self.images, self.labels = self._typed(inputs), np.array(labels)

    def _typed(self, images):
        return np.array(images, dtype=next(iter(self.arrays.values())).dtype)

    def _forward(self, x):
        """The input of every layer, and the logits."""
        inputs = []
        for layer in self.layers:
            inputs.append(x)
            if layer["kind"] == "flatten":
                x = x.reshape(len(x), -1)
            else:
                x = np.dot(x, self.arrays[layer["name"] + ".weight"])
                x = x + self.arrays[layer["name"] + ".bias"] if layer["bias"] else x
        return inputs, x

    def step(self, number):
        index = self.order[number]
        inputs, logits = self._forward(self.images[index])
        losses, gradient = _softmax_cross_entropy(logits, self.labels[index])
        gradient = gradient / len(index)
        for layer, x in list(zip(self.layers, inputs))[::-1]:
            gradient = self._backward(layer, x, gradient)
        return losses.mean()

    def _backward(self, layer, x, gradient):
        if layer["kind"] == "flatten":
            return gradient.reshape(x.shape)
        to_input = np.dot(gradient, self.arrays[layer["name"] + ".weight"].T)
        self._update(layer["name"] + ".weight", np.dot(x.T, gradient))
        if layer["bias"]:
            self._update(layer["name"] + ".bias", gradient.sum(0))
        return to_input

    def _update(self, name, gradient):
        array, velocity, settings = self.arrays[name], self.velocities[name], self.settings
        gradient = gradient + settings["weight_decay"] * array
        velocity *= settings["momentum"]
        velocity += gradient
        step = gradient + settings["momentum"] * velocity if settings["nesterov"] else velocity
        array -= settings["learning_rate"] * step

    def outputs(self, inputs, batch_size):
        images = self._typed(inputs)
        for first in range(0, len(images), batch_size):
            yield self._forward(images[first : first + batch_size])[1]


def _names(layers):
    for layer in layers:
        if layer["kind"] == "dense":
            yield layer["name"] + ".weight"
            if layer["bias"]:
                yield layer["name"] + ".bias"


def _own(layers, seed):
    """This double's own initialisation: small normal weights and zero biases."""
    generator, arrays = np.random.RandomState(seed), {}
    for layer in layers:
        if layer["kind"] == "dense":
            inputs, outputs = layer["input"][0], layer["output"][0]
            arrays[layer["name"] + ".weight"] = generator.normal(0, inputs**-0.5, size=(inputs, outputs))
            arrays[layer["name"] + ".bias"] = np.zeros(outputs)
    return arrays


def _softmax_cross_entropy(logits, labels):
    """The loss of each example, and its gradient with respect to the logits."""
    shifted = logits - logits.max(1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(1, keepdims=True)
    rows = np.arange(len(labels))
    losses = np.log(sums[:, 0]) - shifted[rows, labels]
    gradient = exponentials / sums
    gradient[rows, labels] -= 1
    return losses, gradient
