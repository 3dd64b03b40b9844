"""The recurrent layers among the kernels that Paddle launches."""

from collections import Counter

from dlworker.frameworks.paddle.profile import launches
from dlworker.recurrent_kernels import CUDNN, FUSED, LOOP, step_by_step


def recurrent_kernels(run, trainer, device, is_training):
    """{kernel: kind} of what ``run`` does. On GPUs, Paddle has its kernel rnn by cuDNN only."""
    counts = Counter(name for thread in launches(run) for name, _, _ in thread)
    if counts["rnn"]:
        return {"rnn": FUSED if device.startswith("cpu") else CUDNN}
    return step_by_step(trainer.network, counts, ["matmul"], LOOP)
