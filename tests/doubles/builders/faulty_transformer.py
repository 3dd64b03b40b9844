"""A PyTorch whose Transformers do one thing differently, named by the variable FAULT."""

import os

import torch
from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions
from dlworker.frameworks.pytorch.layers import Attention
from torch import nn

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def no_causal_mask(trainer):
    for module in trainer.model.modules():
        if isinstance(module, Attention):
            module.causal = False


def padding_attended(trainer):
    for module in trainer.model.modules():
        if isinstance(module, Attention):
            attend = module.forward
            module.forward = lambda x, lengths=None, attend=attend: attend(x)


def another_gelu(trainer):
    for module in trainer.model.modules():
        if isinstance(module, nn.GELU):
            module.approximate = "none" if module.approximate == "tanh" else "tanh"


def untied_embedding(trainer):
    """The output layer has weights of its own, which start as a copy of the embedding's."""
    weight = nn.Parameter(trainer.model.embedding1.weight.detach().clone())
    trainer.optimizer.param_groups[0]["params"].append(weight)
    trainer.model.tied1.forward = lambda x, tied: x @ weight.T


def everything_decays(trainer):
    """The decay of weights applies to biases, scales and shifts, too: the default of torch.optim.AdamW."""
    for group in trainer.optimizer.param_groups:
        group["weight_decay"] = trainer.optimizer.param_groups[0]["weight_decay"]


def coupled_decay(trainer):
    """The decay is part of the gradient, as in Adam with an L2 penalty."""
    decoupled = trainer.optimizer
    groups = [{"params": group["params"], "weight_decay": group["weight_decay"]} for group in decoupled.param_groups]
    settings = {name: decoupled.defaults[name] for name in ("lr", "betas", "eps")}
    trainer.optimizer = torch.optim.Adam(groups, **settings)


FAULTS = {
    fault.__name__: fault
    for fault in (
        no_causal_mask,
        padding_attended,
        another_gelu,
        untied_embedding,
        everything_decays,
        coupled_decay,
    )
}


class Trainer(pytorch.Trainer):
    def __init__(self, network, *arguments):
        super().__init__(network, *arguments)
        FAULTS.get(os.environ["FAULT"], lambda trainer: None)(self)
