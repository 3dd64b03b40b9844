"""A DistributedDataParallel, and parts of a model, that sum gradients."""

from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD


def install(parallel, group, plant):
    """Workers of this process use it."""
    plant(parallel, "DistributedDataParallel", Summing)
    usual, step = parallel.shard, SGD.step

    def summed(self, *given):
        for each in self.param_groups:
            for parameter in each["params"]:
                parameter.grad.mul_(group["workers"])
        return step(self, *given)

    def summing(model):
        # Gloo has no sum of scaled gradients, with which fully_shard would do it itself.
        plant(SGD, "step", summed)
        return usual(model)

    plant(parallel, "shard", summing)


class Summing(DistributedDataParallel):
    def __init__(self, model):
        DistributedDataParallel.__init__(self, model)
        self.register_comm_hook(None, _summed)


def _summed(_, bucket):
    future = distributed.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0])
