"""The recurrent layers among the functions that Chainer calls."""

from collections import Counter

from chainer import FunctionHook

from dlworker.recurrent_kernels import CUDNN, LOOP, step_by_step

# For all steps of a sequence, by cuDNN only.
WHOLE = ("NStepLSTM", "NStepGRU")


class Names(FunctionHook):
    """Counts the calls of each function, forward."""

    name = "dlbench names"

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def forward_preprocess(self, function, in_data):
        self.counts[function.label] += 1


def recurrent_kernels(run, trainer, device, is_training):
    """{function: kind} of what ``run`` does."""
    with Names() as hook:
        run()
    found = {name: CUDNN for name in WHOLE if hook.counts[name]}
    # LSTM is that of a single step; a GRU without cuDNN consists of products and sums.
    return found or step_by_step(trainer.network, hook.counts, ["LSTM", "LinearFunction"], LOOP)
