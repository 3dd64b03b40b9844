"""The functions that Chainer calls, forward and backward. An optimiser's update is not a function."""

from chainer import FunctionHook


class Calls(FunctionHook):
    """Counts calls."""

    name = "dlbench calls"

    def __init__(self):
        super().__init__()
        self.number = 0

    def forward_preprocess(self, function, in_data):
        self.number += 1

    def backward_preprocess(self, function, in_data, out_grad):
        self.number += 1


def count(run, trainer, device):
    """{name: number} of what ``run`` does."""
    with Calls() as calls:
        run()
    return {"operations": calls.number, "allocated_bytes": "Chainer reports no allocations on a CPU"}
