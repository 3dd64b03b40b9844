"""The recurrent layers in the graph that MLX made of the network."""

import os
import re
import tempfile
from collections import Counter

import mlx.core as mx

from dlworker.recurrent_kernels import UNROLLED, step_by_step


def recurrent_kernels(run, trainer, device, is_training):
    """{operator: kind} of the network applied to one example: MLX compiles the same graph, and has no loops."""
    path = os.path.join(tempfile.mkdtemp(), "network.dot")
    tokens = mx.zeros([1] + trainer.network["input"], mx.int32)
    mx.export_to_dot(path, trainer.forward(tokens))
    with open(path, encoding="utf-8") as file:
        counts = Counter(re.findall(r'label ="(\w+)"', file.read()))
    return step_by_step(trainer.network, counts, ["AddMM", "Matmul"], UNROLLED)
