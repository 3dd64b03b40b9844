"""How and where the workers of a data-parallel run meet."""

import socket

import numpy as np

from dlworker.protocol import RequestError


def address(group, rank=0):
    """HOST:PORT at which the worker ``rank`` listens; raises RequestError if it is this worker, and cannot."""
    host, port = group["address"], group["ports"][rank]
    if rank == group["rank"]:
        _require_free(host, port)
    return "%s:%d" % (host, port)


def factors_in(path):
    """The factors by which a worker multiplies its loss in each step; raises RequestError if one of them is 0.

    Devices of one process have one each, in a second axis.
    """
    factors = np.load(path, allow_pickle=False)
    if not factors.all():
        message = "in step %d, no label of a worker's part of the batch counts: fewer workers have larger parts"
        raise RequestError("unsupported", message % np.argmin(factors.min(axis=1)))
    return factors[:, 0] if factors.shape[1] == 1 else factors


class Weighed:
    """A Trainer of several workers whose ``loss`` is a function of logits and labels.

    Its steps multiply the loss by their factors, so that each label that counts has the same weight on all workers.
    """

    factors, number = None, 0

    def step(self, number):
        self.number = number
        return super().step(number)

    def factor(self):
        """That of the step that is being taken."""
        return float(self.factors[self.number])

    def weighed(self, loss):
        """A loss that is multiplied by it, if steps have any."""

        def of_step(logits, labels):
            found = loss(logits, labels)
            return found if self.factors is None else found * self.factor()

        return of_step


def _require_free(host, port):
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError as error:
            message = "the workers cannot meet at port %d of %s: %s; another run gets another port"
            raise RequestError("error", message % (port, host, error.strerror))
