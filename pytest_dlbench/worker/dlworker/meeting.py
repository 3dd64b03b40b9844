"""How and where the workers of a data-parallel run meet."""

import importlib
import socket

from dlworker.protocol import RequestError


def parallel_of(builder):
    """The module by which a builder's workers meet and train: in its folder, or next to it."""
    return importlib.import_module(builder.__name__ + (".parallel" if hasattr(builder, "__path__") else "_parallel"))


def address(group, rank=0):
    """HOST:PORT at which the worker ``rank`` listens; raises RequestError if it is this worker, and cannot."""
    host, port = group["address"], group["ports"][rank]
    if rank == group["rank"]:
        _require_free(host, port)
    return "%s:%d" % (host, port)


def _require_free(host, port):
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError as error:
            message = "the workers cannot meet at port %d of %s: %s; another run gets another port"
            raise RequestError("error", message % (port, host, error.strerror))
