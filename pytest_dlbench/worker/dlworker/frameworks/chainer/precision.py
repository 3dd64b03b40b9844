"""Chainer's mixed16: parameters and values of float16, updates of float32, a scaled loss; and what stays float32 in it.

NumPy adds up values of float16 one by one in float16, but for what it multiplies: a sum of thousands stands still.
"""

from math import sqrt

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import chainer.links as L  # noqa: N812
import numpy as np

MIXED = {"float16": chainer.mixed16}


def widened(x, compute, **settings):
    """What a function makes of values in float32 or more, in the type that they had."""
    return F.cast(compute(F.cast(x, np.promote_types(x.dtype, np.float32)), **settings), x.dtype)


def with_bias(y, bias):
    """A bias for every channel or feature whose gradient is added up in float32."""
    if bias is None:
        return y
    return F.cast(F.bias(F.cast(y, np.float32), F.cast(bias, np.float32)), y.dtype)


class Convolution2D(L.Convolution2D):
    """Chainer's own, but for the bias in float16."""

    def forward(self, x):
        if x.dtype != np.float16:
            return super().forward(x)
        return with_bias(F.convolution_2d(x, self.W, None, self.stride, self.pad, groups=self.groups), self.b)


class Linear(L.Linear):
    """Chainer's own, but for the bias in float16."""

    def forward(self, x, n_batch_axes=1):
        if x.dtype != np.float16:
            return super().forward(x, n_batch_axes)
        rows = F.reshape(x, (-1, x.shape[-1]))
        return F.reshape(with_bias(F.linear(rows, self.W), self.b), x.shape[:n_batch_axes] + (-1,))


class EmbedID(L.EmbedID):
    """Chainer's own of float32, whose rows are rounded behind it: there the gradients of a token are added up."""

    def __init__(self, vocabulary, size):
        self.given = chainer.get_dtype()
        with chainer.using_config("dtype", chainer.get_dtype(map_mixed16=np.float32)):
            super().__init__(vocabulary, size)

    def forward(self, x):
        return F.cast(super().forward(x), self.given)


class GradientClipping:
    """Clipping of gradients that are scaled: Chainer's own compares them as they are, and squares them in float16."""

    name = "GradientClipping"
    timing = "pre"

    def __init__(self, threshold):
        self.threshold = threshold

    def __call__(self, optimizer):
        parameters = list(optimizer.target.params())
        norm = sqrt(sum(np.square(parameter.grad, dtype=np.float64).sum() for parameter in parameters))
        threshold = self.threshold * optimizer._loss_scale
        if norm > threshold:
            for parameter in parameters:
                parameter.grad *= threshold / norm
