"""The bytes that a training step moves, counted from the network's arrays."""

from math import prod
from typing import Final

from pytest_dlbench.model.layers import GRU, LSTM, Embedding, TiedDense
from pytest_dlbench.model.network import Network, Placed
from pytest_dlbench.model.optimizers import SGD, Optimizer
from pytest_dlbench.model.recipe import Recipe

NUMBER_BYTES: Final = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
TOKEN_BYTES: Final = 4
# The output of a layer and its gradient are each written once and read once.
WRITTEN_AND_READ: Final = 2
WITH_GRADIENT: Final = 2


def step_bytes(network: Network, recipe: Recipe) -> int:
    """Bytes that one step moves if every array is written to memory once and read from it once.

    Weights: the update reads and writes each trained number and each of its optimiser slots. An embedding counts only
    if the update touches its whole table, otherwise only the rows of the batch's tokens move.

    Activations: the output of a layer with multiply-adds is written and read in the forward pass, and its gradient in
    the backward pass; for a recurrent layer, the states of all steps. Other layers can be fused with these.

    Inputs: read once, tokens as four-byte numbers.

    This is the minimum for a step whose arrays go through memory. Weight gradients, labels, repeated reads, layout
    changes and workspace add to it; what stays in a cache reduces it.
    """
    slots, size = recipe.optimizer.slots, NUMBER_BYTES[recipe.precision]
    is_tied = any(isinstance(placed.layer, TiedDense) for placed in network.layers)
    weights = sum(_updated(placed, recipe.optimizer, is_tied) for placed in network.layers)
    made = recipe.batch_size * sum(_made(placed) for placed in network.layers)
    inputs = recipe.batch_size * prod(network.model.input_shape)
    return (
        WRITTEN_AND_READ * (1 + slots) * weights * NUMBER_BYTES[recipe.stored_precision]
        + WRITTEN_AND_READ * WITH_GRADIENT * made * size
        + inputs * (TOKEN_BYTES if network.model.vocabulary else size)
    )


def _updated(placed: Placed, optimizer: Optimizer, is_tied: bool) -> int:
    """The trained numbers of a layer that every update touches: all of an embedding that is the output layer, too."""
    is_dense = is_tied or optimizer.slots > 0 or (isinstance(optimizer, SGD) and optimizer.weight_decay > 0)
    if isinstance(placed.layer, Embedding) and not is_dense:
        return 0
    return sum(prod(parameter.shape) for parameter in placed.inferred.parameters)


def _made(placed: Placed) -> int:
    """The outputs of a layer for one sample that the backward pass needs."""
    if not placed.inferred.multiply_adds:
        return 0
    if isinstance(placed.layer, LSTM | GRU):
        steps, _ = placed.input
        return steps * placed.layer.units
    return prod(placed.inferred.output)
