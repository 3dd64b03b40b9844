"""JPEG files of a folder, one by one and in batches: what every loader reads and decodes.

Importable without a framework: the processes of a loader have this, NumPy and a decoder, and some have nothing else.
"""

import os
from io import BytesIO
from time import perf_counter

import numpy as np

from dlworker.protocol import RequestError

try:
    import PIL
    from PIL import Image
except ImportError:  # Some frameworks have a decoder of their own.
    PIL, Image = None, None


class Images(object):
    """A sequence of (levels H×W×C from 0 to 255, label, [seconds of reading, of decoding]), one for each file.

    ``decode`` makes levels of a file's content; Pillow does by default.
    """

    def __init__(self, folder, labels, channels, decode=None):
        self.folder, self.labels, self.channels = folder, np.array(labels), channels
        self.decode = decode or self._decoded

    def __len__(self):
        return len(self.labels)

    def path(self, number):
        """The file of an image; ``data.jpeg`` of the driver wrote it."""
        return os.path.join(self.folder, "train", str(int(self.labels[number])), "%06d.jpeg" % number)

    def __getitem__(self, number):
        began = perf_counter()
        with open(self.path(number), "rb") as file:
            content = file.read()
        read = perf_counter()
        levels = self.decode(content)
        return levels, self.labels[number], np.array([read - began, perf_counter() - read])

    def batch(self, numbers):
        """These images as ``collated`` returns them."""
        return collated([self[number] for number in numbers])

    def _decoded(self, content):
        return with_pillow(content, self.channels)


def collated(samples):
    """Inputs N×C×H×W in [0, 1], labels, and [seconds of reading, of decoding, of this] of a batch of samples."""
    began = perf_counter()
    levels, labels, seconds = zip(*samples)
    inputs = as_inputs(np.stack(levels))
    return inputs, np.array(labels), np.append(np.sum(seconds, axis=0), perf_counter() - began)


def as_inputs(levels):
    """Levels N×H×W×C from 0 to 255 as inputs of a network, N×C×H×W in [0, 1]."""
    return np.ascontiguousarray(levels.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)


def with_pillow(content, channels):
    """The levels H×W×C of a JPEG file, by Pillow."""
    levels = np.array(Image.open(BytesIO(content)).convert("RGB" if channels == 3 else "L"))
    return levels.reshape(levels.shape[:2] + (channels,))


def pillow():
    """What Pillow is called in records; raises RequestError where it is not installed."""
    if Image is None:
        raise RequestError("unsupported", "input=jpeg: there is no Pillow in this environment, which decodes the files")
    return "Pillow %s" % PIL.__version__
