"""JPEG files by torch.utils.data.DataLoader: processes that it forks, and Pillow, as torchvision uses it."""

from time import perf_counter

import torch
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import default_collate

from dlworker.images import pillow
from dlworker.serving import die_with_parent

NAME = "torch.utils.data.DataLoader"


def decoder():
    """What decodes the files."""
    return pillow()


def batches(images, order, workers, device):
    """Yield the batch of each row of the order, from pinned memory for a GPU."""
    pillow()
    found = iter(
        DataLoader(
            images,
            batch_sampler=order.tolist(),
            num_workers=workers,
            collate_fn=collated,
            pin_memory=device == "gpu",
            worker_init_fn=begin,
        )
    )
    try:
        for batch in found:
            yield batch
    finally:
        # Its processes end with it.
        del found


def begin(_):
    """Have a process of the loader end with the one that trains."""
    die_with_parent()


def collated(samples):
    """What ``images.collated`` returns, in tensors."""
    began = perf_counter()
    levels, labels, seconds = default_collate(samples)
    inputs = levels.permute(0, 3, 1, 2).contiguous().to(torch.float32) / 255
    collating = torch.tensor([perf_counter() - began], dtype=torch.float64)
    return inputs, labels, torch.cat([seconds.sum(0), collating])
