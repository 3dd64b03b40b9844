"""PyTorch's DistributedDataParallel on gloo: gradients are averaged in buckets while the backward pass goes on.

With exchange=sharded it is FSDP2 (``sharding``).
"""

import os

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch.sharding import Sharded, shard, whole
from dlworker.meeting import Weighed, address
from dlworker.operators import Shared
from dlworker.protocol import RequestError

OF_EACH = ("batch_norm", "dropout", "detections")
PLACEMENTS = ("spread",)
EXCHANGES = ("fp16", "sharded")
EXACT = ("sharded",)


def join(group):
    """Meet in a file of the run's folder, which needs no port, or on several hosts at the first worker's port.

    The workers then exchange over TCP.
    """
    if not hasattr(DistributedDataParallel, "no_sync"):
        message = "DistributedDataParallel of PyTorch %s is for GPUs: 1.1 and later also have it for CPUs"
        raise RequestError("unsupported", message % torch.__version__)
    os.environ["GLOO_SOCKET_IFNAME"] = group["interface"]
    distributed.init_process_group("gloo", store=_store(group), rank=group["rank"], world_size=group["workers"])


def _store(group):
    if "folder" in group:
        return distributed.FileStore(os.path.join(group["folder"], "store"), group["workers"])
    host, port = address(group).rsplit(":", 1)
    return distributed.TCPStore(host, int(port), group["workers"], group["rank"] == 0)


def leave():
    """End the connections to the other workers."""
    distributed.destroy_process_group()


def _compress(exchanging, exchange):
    """Exchange gradients rounded to 16 bits."""
    if exchange == "full":
        return
    try:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks  # noqa: PLC0415
    except ImportError:
        message = "exchange=%s: PyTorch %s has no communication hooks for it"
        raise RequestError("unsupported", message % (exchange, torch.__version__))
    exchanging.register_comm_hook(None, default_hooks.fp16_compress_hook)


class Trainer(Weighed, pytorch.Trainer):
    """The network in one of several workers. Batch normalisation uses its part of the batch, as DDP does by default."""

    sharded = None

    def __init__(self, network, recipe, weights, device, seed, group):
        self.is_sharded = group["exchange"] == "sharded"
        super().__init__(network, recipe, weights, device, seed)
        self.loss = self.weighed(self.loss)
        if not self.is_sharded:
            self.exchanging = DistributedDataParallel(self.model)
            _compress(self.exchanging, group["exchange"])
            self.alone, self.forward = self.forward, self._called(self.exchanging)
        # The weights are the same, and the dropout masks must not be.
        torch.manual_seed(seed + group["rank"])

    def _called(self, model):
        # Before the optimiser is made, which is to have the parts.
        if self.is_sharded:
            self.sharded = Sharded(shard(model))
        return super()._called(model)

    def array(self, name):
        if not self.is_sharded:
            return super().array(name)
        return whole(next(p for known, p, _ in self._natives() if known == name)).numpy()

    def change(self, number):
        if self.is_sharded:
            self.sharded.restore(self.trained)
        super().change(number)

    def step_alone(self, number):
        if self.is_sharded:
            self.sharded.separate(self.trained)
            return self.step(number)
        with self.exchanging.no_sync():
            return self.step(number)

    def outputs(self, inputs, batch_size):
        if self.is_sharded:
            self.sharded.gather()
            yield from super().outputs(inputs, batch_size)
            self.sharded.divide()
            return
        # DDP would wait for the other workers' running statistics before every batch.
        training, self.forward = self.forward, self.alone
        try:
            yield from super().outputs(inputs, batch_size)
        finally:
            self.forward = training


class AllReduce(Shared):
    """The sum of an array of each worker, in place."""

    def __init__(self, array):
        self.own = torch.from_numpy(array)
        self.sum = torch.empty_like(self.own)

    def reset(self):
        self.sum.copy_(self.own)

    def compute(self):
        distributed.all_reduce(self.sum)
        return (self.sum,)


OPERATORS = {"all_reduce": AllReduce}
