"""Paddle's DataParallel on gloo: gradients are averaged in buckets while the backward pass goes on."""

import os

import paddle
from paddle import distributed

from dlworker.frameworks import paddle as builder
from dlworker.meeting import Weighed, address
from dlworker.operators import Shared

OF_EACH = ("batch_norm", "dropout", "detections")


def join(group):
    """Meet at the store of the first worker; the workers then exchange over connections of their own."""
    os.environ.update(
        PADDLE_DISTRI_BACKEND="gloo",
        PADDLE_TRAINER_ID=str(group["rank"]),
        PADDLE_TRAINERS_NUM=str(group["workers"]),
        PADDLE_TRAINER_ENDPOINTS=",".join(address(group, rank) for rank in range(group["workers"])),
        PADDLE_CURRENT_ENDPOINT=address(group, group["rank"]),
        PADDLE_MASTER=address(group),
    )
    paddle.set_device("cpu")
    distributed.init_parallel_env()


def leave():
    """End the connections to the other workers."""
    distributed.destroy_process_group()


class Trainer(Weighed, builder.Trainer):
    """The network in one of several workers. Batch normalisation uses its part of the batch, as DataParallel does."""

    def __init__(self, network, recipe, weights, device, seed, group):
        super().__init__(network, recipe, weights, device, seed)
        self.loss = self.weighed(self.loss)
        self.alone, self.forward = self.forward, paddle.DataParallel(self.forward)
        # The weights are the same, and the dropout masks must not be.
        paddle.seed(seed + group["rank"])

    def step_alone(self, number):
        with self.forward.no_sync():
            return self.step(number)

    def outputs(self, inputs, batch_size):
        # DataParallel would wait for the other workers.
        exchanging, self.forward = self.forward, self.alone
        try:
            yield from super().outputs(inputs, batch_size)
        finally:
            self.forward = exchanging


class AllReduce(Shared):
    """The sum of an array of each worker, in place."""

    def __init__(self, array):
        self.own = paddle.to_tensor(array)
        self.sum = paddle.empty_like(self.own)

    def reset(self):
        paddle.assign(self.own, self.sum)

    def compute(self):
        distributed.all_reduce(self.sum)
        return (self.sum,)


OPERATORS = {"all_reduce": AllReduce}
