"""The builder that a variable names, which reports the determinism and the layout that are in force."""

import os
import sys
from importlib import import_module

builder = import_module(os.environ["DOUBLE_OF"])
SUPPORTS, configure, threads = builder.SUPPORTS, builder.configure, builder.threads
set_execution = builder.set_execution


def versions():
    return dict(builder.versions(), deterministic=str(_is_deterministic()))


def _is_deterministic():
    if "torch" in sys.modules:
        return sys.modules["torch"].are_deterministic_algorithms_enabled()
    return import_module("tensorflow.python.framework.config").is_op_determinism_enabled()


class Trainer(builder.Trainer):
    def describe(self):
        if not hasattr(self, "format"):
            return super().describe()
        return "images: %s" % [image.is_contiguous(**self.format) for image in self._images() if self.format]

    def _images(self):
        torch = sys.modules["torch"]
        image = self._formatted(torch.zeros(2, *self.network["input"]))
        return [image, *(p for p in self.model.parameters() if p.dim() == 4)]
