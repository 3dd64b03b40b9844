"""What PyTorch reports of recurrent layers."""

import torch  # noqa: F401 - for torch_kernels

from dlworker.torch_kernels import recurrent_kernels

__all__ = ["recurrent_kernels"]
