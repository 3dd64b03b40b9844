"""JPEG files by paddle.io.DataLoader: processes that it forks, and Pillow, as paddle.vision uses it by default."""

from paddle.io import BatchSampler, DataLoader, Dataset

from dlworker.images import collated, pillow
from dlworker.serving import die_with_parent

NAME = "paddle.io.DataLoader"


def decoder():
    """What decodes the files."""
    return pillow()


class Files(Dataset):
    """The images as a data set of Paddle's."""

    def __init__(self, images):
        super().__init__()
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, number):
        return self.images[number]


class Rows(BatchSampler):
    """The rows of the order as batches."""

    def __init__(self, order):
        self.order = order.tolist()

    def __len__(self):
        return len(self.order)

    def __iter__(self):
        return iter(self.order)


def batches(images, order, workers, device):
    """Yield the batch of each row of the order."""
    pillow()
    found = iter(
        DataLoader(
            Files(images),
            batch_sampler=Rows(order),
            num_workers=workers,
            collate_fn=collated,
            worker_init_fn=begin,
            return_list=True,
        )
    )
    try:
        for inputs, labels, seconds in found:
            yield inputs.numpy(), labels.numpy(), seconds.numpy()
    finally:
        # Its processes end with it.
        del found


def begin(_):
    """Have a process of the loader end with the one that trains."""
    die_with_parent()
