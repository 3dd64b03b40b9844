"""Settings of execution in PyTorch."""

import os

import torch

from dlworker.protocol import RequestError

EXECUTION = ("autotune", "channels_last", "deterministic", "library=mkl", "library=onednn", "tf32")
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
    _use_library(execution)
    if device != "cpu":
        torch.backends.cudnn.benchmark = "autotune" in execution
        _round("tf32" in execution)


def _use_library(execution):
    """Compute with oneDNN or, without it, by PyTorch's own code and MKL; its default is to use both."""
    asked = {"library=onednn", "library=mkl"} & set(execution)
    if not asked:
        return
    if not hasattr(torch._C, "_set_mkldnn_enabled"):
        raise RequestError("unsupported", "torch %s has no switch for oneDNN; 1.3 is the first" % torch.__version__)
    backend = torch.backends.mkldnn if "library=onednn" in asked else torch.backends.mkl
    if not backend.is_available():
        raise RequestError("unsupported", "torch %s is built without %s" % (torch.__version__, backend.__name__))
    torch.backends.mkldnn.set_flags("library=onednn" in execution)


def _round(is_allowed):
    if hasattr(torch.backends.cudnn, "allow_tf32"):
        torch.backends.cudnn.allow_tf32 = is_allowed
        torch.backends.cuda.matmul.allow_tf32 = is_allowed
    elif is_allowed:
        raise RequestError("unsupported", "torch %s has no TF32; 1.7 is the first that has it" % torch.__version__)


def memory_format(recipe):
    """The order of images and of the weights of convolutions in memory: a keyword of tensors' methods, or none."""
    return {"memory_format": torch.channels_last} if recipe.get("channels_last") else {}
