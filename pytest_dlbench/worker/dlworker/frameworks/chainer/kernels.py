"""The recurrent layers among the functions that Chainer calls."""

from chainer import FunctionHook

from dlworker.recurrent_kernels import CUDNN, LOOP

# For all steps of a sequence by cuDNN, of a single step, and what the GRU of Chainer calls before its own loop.
KINDS = {"NStepLSTM": CUDNN, "NStepGRU": CUDNN, "LSTM": LOOP, "TransposeSequence": LOOP}


class Names(FunctionHook):
    """Keeps the names of the functions that are called, forward."""

    name = "dlbench names"

    def __init__(self):
        super().__init__()
        self.names = set()

    def forward_preprocess(self, function, in_data):
        self.names.add(function.label)


def recurrent_kernels(run, trainer, device, is_training):
    """{function: kind} of what ``run`` does."""
    with Names() as hook:
        run()
    found = {name: kind for name, kind in KINDS.items() if name in hook.names}
    return found or "Chainer called none of the functions %s" % ", ".join(KINDS)
