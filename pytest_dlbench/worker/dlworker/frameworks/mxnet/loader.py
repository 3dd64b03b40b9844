"""JPEG files by gluon's DataLoader: processes that it forks, and mx.image.imdecode, which is OpenCV's decoder."""

import mxnet as mx
import numpy as np

from dlworker.images import Images, collated

NAME = "mx.gluon.data.DataLoader"


def decoder():
    """What decodes the files."""
    return "mx.image.imdecode"


def batches(images, order, workers, device):
    """Yield the batch of each row of the order."""
    data = Images(images.folder, images.labels, images.channels, Decoder(images.channels))
    loader = mx.gluon.data.DataLoader(
        data, batch_sampler=order.tolist(), num_workers=workers, batchify_fn=collated, timeout=600
    )
    found = iter(loader)
    try:
        for inputs, labels, seconds in found:
            yield np.asarray(inputs), np.asarray(labels), np.asarray(seconds)
    finally:
        # Its processes end with it.
        del found, loader


class Decoder(object):
    """Levels H×W×C of a file's content; a function would not be pickled with its channels."""

    def __init__(self, channels):
        self.channels = channels

    def __call__(self, content):
        # asnumpy waits until it is decoded.
        return mx.image.imdecode(content, flag=int(self.channels == 3), to_rgb=True).asnumpy()
