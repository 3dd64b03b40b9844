"""A DistributedDataParallel, and parts of a model, that sum gradients."""

from torch import distributed
from torch.nn.parallel import DistributedDataParallel


def install(parallel, group, plant):
    """Workers of this process use it."""
    plant(parallel, "DistributedDataParallel", Summing)
    usual = parallel.shard

    def summing(model):
        usual(model)
        for module in model.modules():
            if hasattr(module, "set_gradient_divide_factor"):
                module.set_gradient_divide_factor(1.0)
        return model

    plant(parallel, "shard", summing)


class Summing(DistributedDataParallel):
    def __init__(self, model):
        DistributedDataParallel.__init__(self, model)
        self.register_comm_hook(None, _summed)


def _summed(_, bucket):
    future = distributed.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0])
