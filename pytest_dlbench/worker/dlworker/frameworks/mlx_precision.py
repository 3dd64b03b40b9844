"""Mixed precision, of which MLX has the types and the casts: what rounds the weights, and what scales the loss."""

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_map, tree_reduce

MIXED = {"bfloat16": mx.bfloat16, "float16": mx.float16}
# Scale, factor and steps between two attempts at more, as in PyTorch: MLX has no scaler to take them from.
FIRST_SCALE, FACTOR, PATIENCE = 2.0**16, 2.0, 2000


def in_16_bits(model, dtype, inputs):
    """What a model makes of inputs when both are rounded. Then it has its own arrays back."""
    own = model.trainable_parameters()
    model.apply(lambda array: array.astype(dtype), _is_rounded)
    is_float = mx.issubdtype(inputs.dtype, mx.floating)
    outputs = model(inputs.astype(dtype) if is_float else inputs)
    model.update(own)
    return outputs.astype(mx.float32)


def _is_rounded(module, key, value):
    # Of these two the layers themselves round what they give.
    single = isinstance(module, (nn.BatchNorm, nn.Embedding))
    return nn.Module.trainable_parameter_filter(module, key, value) and not single


def scaled_gradients(model, loss_of, inputs, labels, scale):
    """The loss, its gradients and whether they are finite, by way of a loss that is ``scale`` times as large."""
    scaled = nn.value_and_grad(model, lambda *batch: scale * loss_of(*batch))(inputs, labels)
    loss, gradients = tree_map(lambda array: array / scale, scaled)
    are_finite = tree_reduce(lambda found, array: found & mx.isfinite(array).all(), gradients, mx.array(True))
    return loss, gradients, are_finite


class LossScaler:
    """Takes steps whose loss is as large as float16 bears, so that small gradients are no zeros in it."""

    def __init__(self):
        self.scale, self.good_steps = FIRST_SCALE, 0

    def step(self, gradients_of, update, inputs, labels):
        """The loss of a step. One whose gradients were too large for the type updates nothing and halves the scale."""
        loss, gradients, are_finite = gradients_of(inputs, labels, mx.array(self.scale))
        if not are_finite.item():
            self.scale, self.good_steps = self.scale / FACTOR, 0
            return loss
        update(gradients)
        self.good_steps += 1
        if self.good_steps == PATIENCE:
            self.scale, self.good_steps = self.scale * FACTOR, 0
        return loss
