"""The recurrent layers in CNTK's graph."""

from collections import Counter

import cntk as C  # noqa: N812 - the name it has in CNTK's own documentation

from dlworker.recurrent_kernels import CUDNN, SCAN, UNROLLED, step_by_step

# cuDNN's operator, and the one by which a loop over a sequence reads the step before.
KINDS = {"OptimizedRNNStack": CUDNN, "PastValue": SCAN}


def recurrent_kernels(run, trainer, device, is_training):
    """{operator: kind} of the network, the same for steps and inference; nothing has to run for it."""
    return kernels_of(trainer.logits, trainer.network)


def kernels_of(function, network):
    """The same of a function of CNTK."""
    nodes = C.logging.graph.depth_first_search(function.root_function, lambda node: hasattr(node, "op_name"), depth=-1)
    counts = Counter(node.op_name for node in nodes)
    found = {name: kind for name, kind in KINDS.items() if counts[name]}
    return found or step_by_step(network, counts, ["Times"], UNROLLED)
