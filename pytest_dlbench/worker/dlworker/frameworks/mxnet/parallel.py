"""MXNet's distributed KVStore: workers send gradients to servers, which add them up, and get the sums.

Each worker starts a server, on its own processors; the first one also starts the scheduler, at which all meet.
"""

import os
import subprocess
import sys
from itertools import count

import mxnet as mx

from dlworker.frameworks import mxnet as builder
from dlworker.frameworks.mxnet import store
from dlworker.frameworks.mxnet.optimizers import optimizer
from dlworker.meeting import Weighed, address
from dlworker.protocol import RequestError

OF_EACH = ("batch_norm", "dropout", "detections")
EXCHANGES = ("2bit", "server")
EXACT = ("server",)
# Of a value in the gradient's mean over all workers, what 2bit sends: minus this, nothing, or this. The rest is kept
# for the next step.
THRESHOLD = 0.001
# How the store's processes name the message that their controller gets.
CONTROLLER = 0
END_SECONDS = 20

# Made by join().
STORES, PROCESSES = [], []
# Of arrays in the store. Each network has its own: servers take a second array of a key for a gradient.
KEYS = count()


def join(group):
    """Meet at the first worker's scheduler."""
    host, port = address(group).rsplit(":", 1)
    workers = str(group["workers"])
    os.environ.update(
        DMLC_PS_ROOT_URI=host,
        DMLC_PS_ROOT_PORT=port,
        DMLC_NUM_WORKER=workers,
        DMLC_NUM_SERVER=workers,
        DMLC_INTERFACE=group["interface"],
    )
    for role in ("server", "scheduler")[: 1 if group["rank"] else 2]:
        command = [sys.executable, "-s", "-m", store.__name__, role]
        PROCESSES.append(subprocess.Popen(command, env=dict(os.environ, **store.variables())))
    os.environ["DMLC_ROLE"] = "worker"
    STORES.append(mx.kv.create("dist_sync"))
    if group["rank"] == 0:
        STORES[0]._send_command_to_servers(CONTROLLER, store.IS_MADE)


def leave():
    """End the store, whose servers and scheduler then end."""
    mx.nd.waitall()
    STORES.clear()
    for process in PROCESSES:
        process.wait(END_SECONDS)


class Trainer(Weighed, builder.Trainer):
    """The network in one of several workers. Batch normalisation uses its part of the batch."""

    def __init__(self, network, recipe, weights, device, seed, group):
        super().__init__(network, recipe, weights, device, seed)
        # The weights are the same, and the dropout masks must not be.
        mx.random.seed(seed + group["rank"])
        self.workers, self.exchange, self.exchanges = group["workers"], group["exchange"], True
        self._require(recipe)
        self._set_up(recipe)

    def _require(self, recipe):
        if self.exchange == "server" and (recipe.get("clip_norm") or recipe.get("schedule")):
            message = "exchange=server: MXNet's servers update weights at one rate, by gradients that are not clipped"
            raise RequestError("unsupported", message)
        if self.exchange == "2bit" and self.dtype != "float32":
            raise RequestError("unsupported", "exchange=2bit: MXNet compresses gradients in float32 only")

    def _set_up(self, recipe):
        """What the servers do with gradients, and the arrays that they have to begin with."""
        if self.exchange == "2bit":
            STORES[0].set_gradient_compression({"type": "2bit", "threshold": THRESHOLD})
        if self.exchange == "server":
            STORES[0].set_optimizer(optimizer(recipe))
            # Otherwise the first update could come before the optimiser.
            STORES[0]._barrier()
        self.keys = [next(KEYS) for _ in self.trained]
        for key, parameter in zip(self.keys, self.trained):
            STORES[0].init(key, parameter.data())

    def send_gradients(self):
        """Exchange them with the other workers; with exchange=server, for updated parameters."""
        for key, parameter in zip(self.keys, self.trained):
            gradient = parameter.grad()
            gradient /= self.workers
            self._sum(key, gradient, parameter.data() if self.exchange == "server" else gradient)

    def apply(self):
        if not self.exchanges or self.exchange != "server":
            super().apply()

    def _counts(self, labels):
        counts = super()._counts(labels)
        return counts if self.factors is None else counts / self.factor()

    def _sum(self, key, gradient, changed):
        """Send a gradient and get what the servers have made of all workers'."""
        # The first layers' first: the next step begins with them.
        if self.exchange == "2bit":
            # Both at once is not compressed.
            STORES[0].push(key, gradient, priority=-key)
            STORES[0].pull(key, out=changed, priority=-key)
        else:
            STORES[0].pushpull(key, gradient, out=changed, priority=-key)

    def step_alone(self, number):
        self.exchanges = False
        try:
            return self.step(number)
        finally:
            self.exchanges = True
