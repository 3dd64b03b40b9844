"""Mixed precision, for which MLX has only types and casts: rounded weights, and gradients of a scaled loss."""

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_map, tree_reduce

from dlworker.frameworks.mlx.layers import Positions

MIXED = {"bfloat16": mx.bfloat16, "float16": mx.float16}


def in_16_bits(model, dtype, inputs):
    """The model's outputs with weights and inputs rounded. Afterwards the model has its own arrays back."""
    own = model.trainable_parameters()
    model.apply(lambda array: array.astype(dtype), _is_rounded)
    is_float = mx.issubdtype(inputs.dtype, mx.floating)
    outputs = model(inputs.astype(dtype) if is_float else inputs)
    model.update(own)
    return outputs.astype(mx.float32)


def _is_rounded(module, key, value):
    # These layers round their own outputs.
    single = isinstance(module, (nn.BatchNorm, nn.LayerNorm, nn.Embedding, Positions))
    return nn.Module.trainable_parameter_filter(module, key, value) and not single


def scaled_gradients(model, loss_of, inputs, labels, scale):
    """The loss, its gradients and whether they are finite, computed from the loss times ``scale``."""
    scaled = nn.value_and_grad(model, lambda *batch: scale * loss_of(*batch))(inputs, labels)
    loss, gradients = tree_map(lambda array: array / scale, scaled)
    are_finite = tree_reduce(lambda found, array: found & mx.isfinite(array).all(), gradients, mx.array(True))
    return loss, gradients, are_finite


def scaled_step(gradients_of, update, scale, inputs, labels):
    """The loss of a step, which updates nothing if its gradients overflow."""
    loss, gradients, are_finite = gradients_of(inputs, labels, mx.array(scale.value))
    if scale.allows(are_finite.item()):
        update(gradients)
    return loss
