"""Mixed precision by torch.autocast, and where PyTorch has none."""

from contextlib import contextmanager
from functools import partial

import torch
from torch import nn

from dlworker.protocol import RequestError

# PyTorch 1.0 has no bfloat16, and no autocast.
MIXED = {"bfloat16": getattr(torch, "bfloat16", None), "float16": torch.float16}


def mixed_precision(precision, kind):
    """A function that makes the context of a forward pass, and what scales a loss of float16, if it is needed."""
    if precision not in MIXED:
        return no_context, None
    if not hasattr(torch, "amp") or not hasattr(torch.amp, "GradScaler"):
        raise RequestError("unsupported", "torch %s has no torch.amp.GradScaler; 2.3 is the first" % torch.__version__)
    scaler = torch.amp.GradScaler(kind) if precision == "float16" else None
    return partial(torch.autocast, device_type=kind, dtype=MIXED[precision]), scaler


def refuse_half_lstms(layers):
    """Where a CPU computes in float16 PyTorch leaves LSTMs to oneDNN, but for those of lengths."""
    left = [layer["name"] for layer in layers if layer["kind"] == "lstm" and "lengths" not in layer]
    if left and not trains_half_lstms():
        told = "on this CPU PyTorch leaves %s to oneDNN, which trains no LSTM in float16; bfloat16 it does"
        raise RequestError("unsupported", told % " and ".join(left))


def trains_half_lstms():
    """Tried, for which processors PyTorch leaves to oneDNN is not what oneDNN says of itself."""
    try:
        # The numbers of the seed are the network's.
        with torch.random.fork_rng(devices=[]), torch.autocast(device_type="cpu", dtype=torch.float16):
            nn.LSTM(4, 4)(torch.zeros(2, 3, 4))[0].sum().backward()
    except RuntimeError:
        return False
    return True


@contextmanager
def no_context():
    """contextlib.nullcontext, which Python 3.6 has not."""
    yield
