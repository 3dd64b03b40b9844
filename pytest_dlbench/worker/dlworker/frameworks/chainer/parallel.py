"""ChainerMN: gradients are averaged by MPI's all-reduce, after the backward pass.

mpiexec starts MPI's processes itself, and workers are the driver's. So the first worker has mpiexec start one
placeholder for each worker, which writes down the variables by which MPI would know it, and waits; each worker takes a
placeholder's variables and is its process for MPI.
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from time import sleep

import numpy as np

from dlworker.frameworks import chainer as builder
from dlworker.frameworks.chainer import placeholder
from dlworker.meeting import Weighed
from dlworker.operators import Shared
from dlworker.protocol import RequestError

OF_EACH = ("batch_norm", "dropout", "detections")

# As root, which containers are; on any number of processors; on those that the driver has chosen.
MPIEXEC = ("mpiexec", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
# By which Open MPI's processes know each other.
PREFIXES = ("OMPI_", "PMIX_")
# Over TCP, as in other frameworks: through shared memory, which Open MPI would use, nobody could count the bytes.
OVER_TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
POLL_SECONDS = 0.005
END_SECONDS = 20

# Made by join().
COMMUNICATORS, PROCESSES = [], []


def join(group):
    """Take a process's place in MPI's world, and meet the others there."""
    folder = os.path.join(group["folder"], "mpi")
    if group["rank"] == 0:
        _start(group["workers"], folder)
    os.environ.update(_variables(placeholder.file(folder, group["rank"])))
    os.environ.update(OVER_TCP, OMPI_MCA_btl_tcp_if_include=group["interface"])
    COMMUNICATORS.append(_chainermn().create_communicator("naive"))


def _chainermn():
    try:
        # This initialises MPI.
        import_module("mpi4py.MPI")
    except ImportError as error:
        raise RequestError("unsupported", "several workers of Chainer need mpi4py: %s" % error)
    import chainermn  # noqa: PLC0415

    return chainermn


def _start(workers, folder):
    """Have mpiexec start the placeholders."""
    os.mkdir(folder)
    command = [sys.executable, "-s", "-m", placeholder.__name__, folder]
    PROCESSES.append(subprocess.Popen([*MPIEXEC, "-n", str(workers), *command], stdin=subprocess.DEVNULL))


def _variables(file):
    """The variables of a placeholder, once it has written them."""
    while not os.path.exists(file):
        if PROCESSES and PROCESSES[0].poll() is not None:
            raise RequestError("error", "mpiexec ended with status %d before the workers met" % PROCESSES[0].poll())
        sleep(POLL_SECONDS)
    with open(file, encoding="utf-8") as written:
        return {name: value for name, value in json.load(written).items() if name.startswith(PREFIXES)}


def leave():
    """Leave MPI's world, and end the placeholders."""
    from mpi4py import MPI  # noqa: PLC0415 - initialises MPI

    MPI.Finalize()
    for process in PROCESSES:
        placeholder.end(process.args[-1])
        process.wait(END_SECONDS)


class Trainer(Weighed, builder.Trainer):
    """The network in one of several workers. Batch normalisation uses its part of the batch."""

    def __init__(self, network, recipe, weights, device, seed, group):
        super().__init__(network, recipe, weights, device, seed)
        # The weights are the same, and the dropout masks must not be.
        np.random.seed(seed + group["rank"])
        self.loss = self.weighed(self.loss)
        self.alone = self.optimizer
        self.optimizer = _chainermn().create_multi_node_optimizer(self.alone, COMMUNICATORS[0])
        # Its first update only sends the first worker's weights to the others, without a step.
        self.optimizer.update()

    def step_alone(self, number):
        exchanging, self.optimizer = self.optimizer, self.alone
        try:
            return self.step(number)
        finally:
            self.optimizer = exchanging


class AllReduce(Shared):
    """The sum of an array of each worker, by MPI's all-reduce."""

    def __init__(self, array):
        self.own = array

    def compute(self):
        return (COMMUNICATORS[0].allreduce(self.own),)


OPERATORS = {"all_reduce": AllReduce}
