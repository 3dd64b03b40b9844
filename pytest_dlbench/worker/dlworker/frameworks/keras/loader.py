"""JPEG files by a keras.utils.PyDataset, whose threads read and decode with Pillow, which Keras uses itself."""

import keras
from keras.src.trainers.data_adapters.py_dataset_adapter import OrderedEnqueuer

from dlworker.images import pillow

NAME = "keras.utils.PyDataset"
# Batches for each thread that are ready before they are asked for.
AHEAD = 2


def decoder():
    """What decodes the files."""
    return pillow()


class Batches(keras.utils.PyDataset):
    """The batch of each row of the order."""

    def __init__(self, images, order, **settings):
        super().__init__(**settings)
        self.images, self.order = images, order

    def __len__(self):
        return len(self.order)

    def __getitem__(self, number):
        return self.images.batch(self.order[number])


def batches(images, order, workers, device):
    """Yield the batch of each row of the order."""
    pillow()
    data = Batches(images, order, workers=workers, max_queue_size=AHEAD * max(1, workers))
    if not workers:
        for number in range(len(data)):
            yield data[number]
        return
    # What fit has for its batches; it would take the steps itself.
    queue = OrderedEnqueuer(data)
    queue.start()
    try:
        found = queue.get()
        for _ in range(len(data)):
            yield next(found)
    finally:
        queue.stop()
