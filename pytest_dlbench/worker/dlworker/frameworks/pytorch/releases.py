"""What older releases of PyTorch lack."""

import torch

from dlworker.protocol import RequestError

RELEASE = tuple(map(int, torch.__version__.split(".")[:2]))
# The first release with each. AdamW of 1.2 adds epsilon before the bias correction; before 1.9 no sort is stable.
SINCE = {"adamw": (1, 3), "attention": (2, 0), "gelu": (1, 4), "gelu_tanh": (1, 12), "region_proposals": (1, 9)}


def refuse_newer(network, recipe):
    """Raise RequestError if this release lacks what a network or its recipe needs."""
    used = {layer["kind"] for layer in network["layers"]} | {recipe["optimizer"]["kind"]}
    newer = [kind for kind in sorted(SINCE) if kind in used and SINCE[kind] > RELEASE]
    if newer:
        lacks = ", ".join("%s (new in %d.%d)" % ((kind,) + SINCE[kind]) for kind in newer)
        raise RequestError("unsupported", "torch %s lacks %s" % (torch.__version__, lacks))
