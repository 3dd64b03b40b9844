"""The builder that DOUBLE_OF names, asked for a GPU, which trains on the processor."""

import importlib
import os

builder = importlib.import_module(os.environ["DOUBLE_OF"])
SUPPORTS, configure, threads, versions = builder.SUPPORTS, builder.configure, builder.threads, builder.versions


class Trainer(builder.Trainer):
    def __init__(self, network, recipe, weights, device, seed):
        super().__init__(network, recipe, weights, "cpu", seed)
