"""What a worker does, one function for each operation; a table, so that a message can call nothing else."""

import importlib
import platform
import sys
import traceback
from time import monotonic

import numpy as np

from dlworker.protocol import VERSION, RequestError, encode, required
from dlworker.training import timed_steps


class Session:
    """What lasts from one operation to the next."""

    def __init__(self):
        self.builder = None
        self.device = None
        self.trainer = None


def hello(session, request):
    """Import the framework. The driver set the thread variables before this Python started."""
    if required(request, "protocol") != VERSION:
        message = "this worker speaks protocol %d, the driver %r" % (VERSION, request["protocol"])
        raise RequestError("bad_request", message)
    session.device = required(request, "device")
    began = monotonic()
    try:
        session.builder = importlib.import_module(required(request, "builder"))
    except ModuleNotFoundError as error:
        # Any other ImportError is of a framework that is here and broken, such as one that lacks a system library.
        raise RequestError("missing_framework", "%s cannot import the framework: %s" % (sys.executable, error))
    session.builder.configure(required(request, "threads"))
    # Some start their pool of threads only now, which is part of the import.
    threads = session.builder.threads()
    seconds = monotonic() - began
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    versions.update(session.builder.versions())
    return {"seconds": seconds, "versions": versions, "executable": sys.executable, "threads": threads}


def build(session, request):
    """Build the network in the framework's own idiom, from shared weights or the framework's own."""
    # Should this one fail, nothing may be trained that was built before.
    session.trainer = None
    path = required(request, "weights")
    weights = None if path is None else np.load(path, allow_pickle=False)
    began = monotonic()
    session.trainer = session.builder.Trainer(
        required(request, "network"), required(request, "recipe"), weights, session.device, required(request, "seed")
    )
    seconds = monotonic() - began
    parameters = {name: list(shape) for name, shape in session.trainer.parameters().items()}
    return {"seconds": seconds, "parameters": parameters, "description": session.trainer.describe()}


def train(session, request):
    """Train on whole batches; ``order`` holds the examples of each step, one row a step."""
    inputs, labels = _examples(request)
    order = np.load(required(request, "order"), mmap_mode="r", allow_pickle=False)
    began = monotonic()
    session.trainer.load(inputs, labels, order)
    load_seconds = monotonic() - began
    seconds, losses = timed_steps(session.trainer, len(order))
    examples = len(seconds) * order.shape[1]
    return {"load_seconds": load_seconds, "step_seconds": seconds, "losses": losses, "examples": examples}


def evaluate(session, request):
    """Count correct answers, and average the loss, over a whole split."""
    inputs, labels = _examples(request)
    began = monotonic()
    correct, loss = session.trainer.evaluate(inputs, labels, required(request, "batch_size"))
    seconds = monotonic() - began
    return {"seconds": seconds, "examples": len(labels), "correct": int(correct), "loss": repr(float(loss))}


def _examples(request):
    paths = (required(request, "inputs"), required(request, "labels"))
    return [np.load(path, mmap_mode="r", allow_pickle=False) for path in paths]


def close(session, request):
    """Nothing more is to come."""
    return {}


OPERATIONS = {"hello": hello, "build": build, "train": train, "evaluate": evaluate, "close": close}
NEEDS = {"build": "hello", "train": "build", "evaluate": "build"}


def serve(session, request):
    """The answer to one request, encoded; whatever goes wrong in a framework is an answer too."""
    try:
        return encode(dict(_perform(session, request), status="done"))
    except RequestError as error:
        return _failed(error.kind, str(error))
    except MemoryError as error:
        return _failed("out_of_memory", "MemoryError: %s" % error)
    except Exception as error:  # The border: a framework can raise anything, and the driver must hear of it.
        kind = "out_of_memory" if _is_out_of_memory(error) else "error"
        return _failed(kind, "%s: %s" % (type(error).__name__, error))


def _perform(session, request):
    op = required(request, "op")
    if op not in OPERATIONS:
        known = ", ".join(sorted(OPERATIONS))
        raise RequestError("bad_request", "unknown op %r; this worker (protocol %d) knows %s" % (op, VERSION, known))
    ready = {"hello": session.builder, "build": session.trainer}
    if op in NEEDS and ready[NEEDS[op]] is None:
        raise RequestError("bad_request", "op %r comes after %r" % (op, NEEDS[op]))
    return OPERATIONS[op](session, request)


def _is_out_of_memory(error):
    # Frameworks have classes of their own for this, with no common base; their texts agree better.
    text = ("%s %s" % (type(error).__name__, error)).lower()
    return any(
        sign in text
        for sign in ("out of memory", "outofmemory", "can't allocate memory", "resource_exhausted", "oom when")
    )


def _failed(kind, message):
    return encode({"status": "failed", "kind": kind, "message": message, "traceback": traceback.format_exc()})
