"""Settings of execution in MXNet: of cuDNN, and the library, which the driver chooses by a variable."""

import os

EXECUTION = ("autotune", "deterministic", "library=onednn", "library=openblas")


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off: MXNet reads them when operators are made."""
    if device != "cpu":
        os.environ["MXNET_CUDNN_AUTOTUNE_DEFAULT"] = "1" if "autotune" in execution else "0"
        os.environ["MXNET_ENFORCE_DETERMINISM"] = "1" if "deterministic" in execution else "0"
