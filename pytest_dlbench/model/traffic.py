"""How many bytes a step of training moves, counted from the network's own arrays."""

from math import prod
from typing import Final

from pytest_dlbench.model.layers import GRU, LSTM, Embedding
from pytest_dlbench.model.network import Network, Placed
from pytest_dlbench.model.optimizers import SGD, Optimizer
from pytest_dlbench.model.recipe import Recipe

NUMBER_BYTES: Final = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
TOKEN_BYTES: Final = 4
# Of what a layer makes, and of its gradient, each once.
WRITTEN_AND_READ: Final = 2
WITH_GRADIENT: Final = 2


def step_bytes(network: Network, recipe: Recipe) -> int:
    """Bytes that one step moves if every array goes through memory, is written once and read once.

    Weights: each trained number, and each slot that the optimiser keeps for it, is read and written by the update. An
    embedding counts only where the update touches its whole table; else it is the rows of the batch's tokens.

    Activations: what a layer with multiply-adds makes is written and read on the way forward, and its gradient on the
    way back; of a recurrent layer these are the states of all steps. Other layers can be computed on the way.

    Inputs: read once, tokens as numbers of four bytes.

    No step that goes through memory moves less. Gradients of weights, labels, second readings, other layouts and work
    space come on top; what stays in a cache comes off.
    """
    slots, size = recipe.optimizer.slots, NUMBER_BYTES[recipe.precision]
    weights = sum(_updated(placed, recipe.optimizer) for placed in network.layers)
    made = recipe.batch_size * sum(_made(placed) for placed in network.layers)
    inputs = recipe.batch_size * prod(network.model.input_shape)
    return (
        WRITTEN_AND_READ * (1 + slots) * weights * NUMBER_BYTES[recipe.stored_precision]
        + WRITTEN_AND_READ * WITH_GRADIENT * made * size
        + inputs * (TOKEN_BYTES if network.model.vocabulary else size)
    )


def _updated(placed: Placed, optimizer: Optimizer) -> int:
    """Trained numbers of a layer that every update touches."""
    is_dense = optimizer.slots > 0 or (isinstance(optimizer, SGD) and optimizer.weight_decay > 0)
    if isinstance(placed.layer, Embedding) and not is_dense:
        return 0
    return sum(prod(parameter.shape) for parameter in placed.inferred.parameters)


def _made(placed: Placed) -> int:
    """Numbers that a layer makes of one sample and that the way back needs."""
    if not placed.inferred.multiply_adds:
        return 0
    if isinstance(placed.layer, LSTM | GRU):
        steps, _ = placed.input
        return steps * placed.layer.units
    return prod(placed.inferred.output)
