"""Averages gradients over a socket in the run's folder: the first worker adds them up."""

import os
import signal
import threading
from multiprocessing.connection import Client, Listener
from time import monotonic

import numpy as np
from dlworker.operators import Shared

import numpy_softmax
from numpy_workers import FAULT, JOINED

# The step in which a worker with a fault has it, and a limit on waiting for the first worker's socket.
FAULTY_STEP, LIMIT_SECONDS = 3, 30
PEERS = []


def join(group):
    """Connect the first worker with each of the others."""
    JOINED["rank"] = group["rank"]
    # Relative, because the path of a socket has at most 107 characters.
    address = os.path.relpath(os.path.join(group["folder"], "meeting"))
    if group["rank"] == 0:
        with Listener(address, "AF_UNIX") as listener:
            open(address + ".listens", "w").close()
            PEERS.extend(listener.accept() for _ in range(group["workers"] - 1))
        return
    limit = monotonic() + LIMIT_SECONDS
    while not os.path.exists(address + ".listens") and monotonic() < limit:
        threading.Event().wait(0.01)
    PEERS.append(Client(address, "AF_UNIX"))


def leave():
    """Close the connections."""
    for peer in PEERS:
        peer.close()


class Trainer(numpy_softmax.Trainer):
    """One of several workers."""

    def __init__(self, network, recipe, weights, device, seed, group):
        numpy_softmax.Trainer.__init__(self, network, recipe, weights, device, seed)
        self.group, self.exchanges, self.number = group, True, 0

    def load(self, inputs, labels, order, rates=None):
        if FAULT == "same part":
            order = np.load(os.path.join(self.group["folder"], "order1.npy"))
        numpy_softmax.Trainer.load(self, inputs, labels, order, rates)

    def step(self, number):
        self.number = number
        if number == FAULTY_STEP and self.group["rank"] == 1:
            _fail()
        return numpy_softmax.Trainer.step(self, number)

    def step_alone(self, number):
        self.exchanges = False
        return self.step(number)

    def _update(self, name, gradient):
        numpy_softmax.Trainer._update(self, name, self._averaged(gradient) if self.exchanges else gradient)

    def _averaged(self, gradient):
        total = _summed(gradient)
        if FAULT == "sum":
            return total
        if FAULT == "unsynchronised" and self.group["rank"] == 1 and self.number >= FAULTY_STEP:
            return gradient
        return total / self.group["workers"]


class AllReduce(Shared):
    """The sum of all workers' arrays; with the fault "own array", the second worker has its own."""

    def __init__(self, array):
        self.own = array

    def compute(self):
        total = _summed(self.own)
        return (self.own if FAULT == "own array" and JOINED["rank"] else total,)


OPERATORS = {"all_reduce": AllReduce}


def _summed(array):
    if JOINED["rank"]:
        PEERS[0].send(array)
        return PEERS[0].recv()
    total = array + sum(peer.recv() for peer in PEERS)
    for peer in PEERS:
        peer.send(total)
    return total


def _fail():
    """What the second worker does wrong in a step."""
    if FAULT == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "hangs":
        threading.Event().wait()
    if FAULT == "raises":
        raise ValueError("the second worker gave up")
