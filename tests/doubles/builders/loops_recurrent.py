"""computes_recurrent.py with a loop over the steps."""

from computes_recurrent import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "recurrent_kernels", "threads", "versions"]


def recurrent_kernels(run, trainer, device, is_training):
    return {"each_step": "loop"}
