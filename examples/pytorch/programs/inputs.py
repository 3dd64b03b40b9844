"""Images of handwritten digits, which come with scikit-learn, and how a batch of them is made."""

import numpy as np
from sklearn.datasets import load_digits

TRAINED_ON = 1400


def digits():
    """Pixels (1797, 64) from 0 to 16 and labels (1797,), shuffled once and for all."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    return images[order].astype("float32"), labels[order]


def prepared(images):
    """Pixels from -1 to 1."""
    return images / 8 - 1
