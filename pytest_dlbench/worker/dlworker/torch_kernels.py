"""The kernels of recurrent layers in PyTorch, by the operators that its profiler lists, on processors and on GPUs."""

import re
import sys
from collections import Counter

from dlworker.recurrent_kernels import CUDNN, LOOP, ONEDNN, step_by_step

# Imported before this module, by a builder or by a user's program.
torch = sys.modules["torch"]
# Operators of whole sequences, called once by each layer: the libraries' own, and those that choose among these.
LIBRARIES = {"_cudnn_rnn": CUDNN, "mkldnn_rnn_layer": ONEDNN}
LAYERS = ("lstm", "gru")
# Those of one step that PyTorch has on GPUs, called in its own loop.
CELLS = ("_thnn_fused_lstm_cell", "_thnn_fused_gru_cell")
PRODUCTS = ("aten::addmm", "aten::mm", "aten::matmul", "addmm", "mm", "matmul")


def recurrent_kernels(run, trainer, device, is_training):
    """{operator: kind} of what ``run`` does. Without an operator of a layer, the framework above loops over steps."""
    counts = _calls(run)
    whole = _named(counts, LIBRARIES)
    found = {name: LIBRARIES[_bare(name)] for name in whole}
    layers = _named(counts, LAYERS)
    # A layer that called no library computes step by step.
    if sum(layers.values()) > sum(whole.values()):
        found.update(dict.fromkeys(_named(counts, CELLS) or layers, LOOP))
    return found or step_by_step(trainer.network, counts, PRODUCTS, LOOP)


def _calls(run):
    if not hasattr(torch, "profiler"):
        # torch.profiler came with 1.8.1.
        with torch.autograd.profiler.profile() as found:
            run()
        return Counter(event.name for event in found.function_events)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
        run()
    return {event.key: event.count for event in found.key_averages()}


def _bare(name):
    """The operator aten::lstm without its namespace, which PyTorch before 1.7 did not have."""
    return re.sub(r"^\w+::", "", name)


def _named(counts, known):
    return {name: count for name, count in counts.items() if _bare(name) in known}
