"""Cropped and flipped images, in NumPy, by random numbers that the driver drew: the same for all frameworks."""

import numpy as np


def augmented(images, draws, padding):
    """Images (N×C×H×W), each padded by zeros, cut to its size at the place that its draw (top, left, flip) names."""
    height, width = images.shape[2:]
    sides = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded, found = np.pad(images, sides, mode="constant"), np.empty_like(images)
    for place, (top, left, is_flipped) in enumerate(draws):
        window = padded[place, :, top : top + height, left : left + width]
        found[place] = window[:, :, ::-1] if is_flipped else window
    return found
