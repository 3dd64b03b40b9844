"""Mixed precision by torch.autocast, and where PyTorch lacks it."""

from contextlib import contextmanager
from functools import partial

import torch
from torch import nn

from dlworker.protocol import RequestError

# PyTorch 1.0 has no bfloat16, and no autocast.
MIXED = {"bfloat16": getattr(torch, "bfloat16", None), "float16": torch.float16}


def mixed_precision(precision, kind):
    """A function that creates the context of a forward pass, and the loss scaler if float16 needs one."""
    if precision not in MIXED:
        return no_context, None
    if not hasattr(torch, "amp") or not hasattr(torch.amp, "GradScaler"):
        raise RequestError("unsupported", "torch %s has no torch.amp.GradScaler; 2.3 is the first" % torch.__version__)
    scaler = torch.amp.GradScaler(kind) if precision == "float16" else None
    return partial(torch.autocast, device_type=kind, dtype=MIXED[precision]), scaler


def refuse_half_lstms(layers):
    """Refuse float16 LSTMs that PyTorch delegates to oneDNN: on CPUs with float16, all without lengths."""
    delegated = [layer["name"] for layer in layers if layer["kind"] == "lstm" and "lengths" not in layer]
    if delegated and not trains_half_lstms():
        reason = "on this CPU PyTorch delegates %s to oneDNN, which cannot train an LSTM in float16, only in bfloat16"
        raise RequestError("unsupported", reason % " and ".join(delegated))


def trains_half_lstms():
    """Found out by trying: what PyTorch delegates to oneDNN differs from what oneDNN reports about itself."""
    try:
        # Keeps the random numbers of the seed for the network.
        with torch.random.fork_rng(devices=[]), torch.autocast(device_type="cpu", dtype=torch.float16):
            nn.LSTM(4, 4)(torch.zeros(2, 3, 4))[0].sum().backward()
    except RuntimeError:
        return False
    return True


@contextmanager
def no_context():
    """contextlib.nullcontext, which Python 3.6 lacks."""
    yield
