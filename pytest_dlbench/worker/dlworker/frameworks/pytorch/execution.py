"""Settings of execution in PyTorch."""

import os

import torch

from dlworker.protocol import RequestError

EXECUTION = ("autotune", "channels_last", "deterministic", "tf32")
# The first releases that have them.
SINCE = {"channels_last": ("1.5", "channels_last"), "deterministic": ("1.8", "use_deterministic_algorithms")}


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off."""
    for name, (release, attribute) in SINCE.items():
        if name in execution and not hasattr(torch, attribute):
            message = "torch %s has no %s; %s is the first that has it" % (torch.__version__, name, release)
            raise RequestError("unsupported", message)
    if "deterministic" in execution:
        # cuBLAS reads it when it is loaded; without it PyTorch refuses products on GPUs.
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        torch.use_deterministic_algorithms(True)
    if device != "cpu":
        torch.backends.cudnn.benchmark = "autotune" in execution
        _round("tf32" in execution)


def _round(is_allowed):
    if hasattr(torch.backends.cudnn, "allow_tf32"):
        torch.backends.cudnn.allow_tf32 = is_allowed
        torch.backends.cuda.matmul.allow_tf32 = is_allowed
    elif is_allowed:
        raise RequestError("unsupported", "torch %s has no TF32; 1.7 is the first that has it" % torch.__version__)


def memory_format(recipe):
    """The order of images and of the weights of convolutions in memory: a keyword of tensors' methods, or none."""
    return {"memory_format": torch.channels_last} if recipe.get("channels_last") else {}
