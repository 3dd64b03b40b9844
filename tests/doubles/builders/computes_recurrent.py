"""clocked.py with an embedding and an LSTM, which it takes for a mean over the steps, and an operator for both."""

import numpy as np

import clocked
from clocked import SUPPORTS as OF_DENSE
from clocked import configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "recurrent_kernels", "threads", "versions"]

SUPPORTS = {*OF_DENSE, "embedding", "lstm"}
ROLES = {"embedding": ("weight",), "lstm": ("weight", "recurrent", "bias")}


def recurrent_kernels(run, trainer, device, is_training):
    run()
    return {"whole_sequence": "fused"}


class Trainer(clocked.Trainer):
    def __init__(self, network, recipe, weights, device, seed):
        super().__init__(network, recipe, weights, device, seed)
        for layer in self.layers:
            for role in ROLES.get(layer["kind"], ()):
                name = "%s.%s" % (layer["name"], role)
                self.arrays[name] = np.array(weights[name])
                self.velocities[name] = np.zeros_like(self.arrays[name])

    def _typed(self, images):
        return np.array(images)

    def _forward(self, x):
        inputs = []
        for layer in self.layers:
            inputs.append(x)
            if layer["kind"] == "embedding":
                x = self.arrays[layer["name"] + ".weight"][x]
            elif layer["kind"] == "lstm":
                x = np.dot(x.mean(1), self.arrays[layer["name"] + ".weight"][:, : layer["units"]])
            else:
                x = np.dot(x, self.arrays[layer["name"] + ".weight"]) + self.arrays[layer["name"] + ".bias"]
        return inputs, x

    def _backward(self, layer, x, gradient):
        if layer["kind"] == "dense":
            return super()._backward(layer, x, gradient)
        for role in ROLES[layer["kind"]]:
            name = "%s.%s" % (layer["name"], role)
            self._update(name, np.full_like(self.arrays[name], 1e-3))
        return gradient
