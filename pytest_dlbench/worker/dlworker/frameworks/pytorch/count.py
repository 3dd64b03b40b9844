"""What PyTorch reports of a step: operators, bytes, and what torch.compile did."""

import torch  # noqa: F401 - for torch_counts

from dlworker.torch_counts import compiled, count

__all__ = ["compiled", "count"]
