"""A PyTorch whose steps take 20 % longer, with the same results."""

import tenth_slower_pytorch
from tenth_slower_pytorch import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(tenth_slower_pytorch.Trainer):
    factor = 1.2
