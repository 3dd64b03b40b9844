"""Chainer's mixed16 (float16 parameters and values, float32 updates, a scaled loss), and what stays float32 in it.

Outside of matrix products NumPy adds up float16 values one by one in float16, where sums of thousands stagnate.
"""

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import chainer.links as L  # noqa: N812
import numpy as np

MIXED = {"float16": chainer.mixed16}


def widened(x, compute, **settings):
    """Compute in float32 or wider, and cast the result back to the type of x."""
    return F.cast(compute(F.cast(x, np.promote_types(x.dtype, np.float32)), **settings), x.dtype)


def with_bias(y, bias):
    """Add a bias per channel or feature, whose gradient is summed in float32."""
    if bias is None:
        return y
    return F.cast(F.bias(F.cast(y, np.float32), F.cast(bias, np.float32)), y.dtype)


class Convolution2D(L.Convolution2D):
    """Chainer's own, except for the bias in float16."""

    def forward(self, x):
        if x.dtype != np.float16:
            return super().forward(x)
        return with_bias(F.convolution_2d(x, self.W, None, self.stride, self.pad, groups=self.groups), self.b)


class Linear(L.Linear):
    """Chainer's own, except for the bias in float16."""

    def forward(self, x, n_batch_axes=1):
        if x.dtype != np.float16:
            return super().forward(x, n_batch_axes)
        rows = F.reshape(x, (-1, x.shape[-1]))
        return F.reshape(with_bias(F.linear(rows, self.W), self.b), x.shape[:n_batch_axes] + (-1,))


class EmbedID(L.EmbedID):
    """Chainer's own in float32, whose output is rounded: the gradients of a token are summed in float32."""

    def __init__(self, vocabulary, size):
        self.given = chainer.get_dtype()
        with chainer.using_config("dtype", chainer.get_dtype(map_mixed16=np.float32)):
            super().__init__(vocabulary, size)

    def forward(self, x):
        return F.cast(super().forward(x), self.given)


class GradientClipping:
    """Clipping of scaled gradients: Chainer's own neither unscales them nor squares them in float32."""

    name = "GradientClipping"
    timing = "pre"

    def __init__(self, threshold):
        self.threshold = threshold

    def __call__(self, optimizer):
        parameters = list(optimizer.target.params())
        xp = parameters[0].device.xp
        norm = sum(xp.square(parameter.grad, dtype=np.float64).sum() for parameter in parameters) ** 0.5
        threshold = self.threshold * optimizer._loss_scale
        # Without a condition, for which a GPU would have to be waited for. A norm of 0 gives infinity, and so 1.
        rate = xp.minimum(1, threshold / norm)
        for parameter in parameters:
            parameter.grad *= rate.astype(parameter.dtype)
