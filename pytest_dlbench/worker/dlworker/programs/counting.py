"""What a program's step does, as far as its libraries report it without the program's help."""

import importlib
import sys

from dlworker import counting

# The module with the counts of a library, which is imported only if the program has imported that.
COUNTS = {"torch": "dlworker.torch_counts", "jax": "dlworker.xla_counts"}
UNKNOWN = "of a program, only PyTorch and JAX report what a step does"
LOOP = "a loop of its own takes no steps that are not timed"


class Counter(object):
    """Begins with the first step; what is imported later is not counted."""

    def __init__(self):
        self._modules = [importlib.import_module(COUNTS[name]) for name in sorted(COUNTS) if name in sys.modules]
        self.compiled = counting.Compiled(self._compiled)
        self._first = len(self._programs())
        self._of_training = []

    def _compiled(self):
        found = {}
        for module in self._modules:
            for name, number in module.compiled(None).items():
                found[name] = found.get(name, 0) + number
        return found

    def _programs(self):
        return next((module.programs() for module in self._modules if hasattr(module, "programs")), [])

    def end_training(self):
        """What is compiled from now on is not for training."""
        self._of_training = self._of_training or self._programs()[self._first :]

    def count(self, run):
        """{name: number} of what ``run()`` does, a step."""
        torch = sys.modules.get(COUNTS["torch"])
        if torch in self._modules:
            return torch.count(run, None, None)
        if self._of_training:
            return sys.modules[COUNTS["jax"]].count(set(self._of_training))
        return {"operations": UNKNOWN}


def of_loop(known):
    """The counts of a loop: what it compiled is known."""
    return known, {"operations": LOOP, "instructions": LOOP}
