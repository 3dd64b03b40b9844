"""The recurrent layers in MXNet's graph, or among the operators that it calls one by one."""

import json
from collections import Counter

from dlworker.frameworks.mxnet.profile import calls
from dlworker.recurrent_kernels import CUDNN, FUSED, LOOP, UNROLLED, step_by_step


def recurrent_kernels(run, trainer, device, is_training):
    """{operator: kind}. On GPUs, MXNet has its operator RNN by cuDNN only; on processors it may call oneDNN in it."""
    counts = _in_graph(trainer.net) if trainer.hybrid else calls(run)
    if counts.get("RNN"):
        return {"RNN": FUSED if device.startswith("cpu") else CUDNN}
    return step_by_step(trainer.network, counts, ["FullyConnected"], UNROLLED if trainer.hybrid else LOOP)


def _in_graph(net):
    """How often each operator is in the graph that MXNet made of the network, the same for steps and inference."""
    return Counter(node["op"] for node in json.loads(net._cached_graph[1].tojson())["nodes"])
