"""Initial weights that all frameworks share."""

import zlib

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.model.layers import Parameter, Sigmoid
from pytest_dlbench.model.network import Network
from pytest_dlbench.model.recipe import Rule


def initial_weights(network: Network, *, seed: int, rule: Rule = "glorot") -> dict[str, NDArray[np.float64]]:
    """Every trainable array in the canonical layout, by name.

    Weights are uniform within a limit, which is the layer's own if it has one. Biases and shifts start at 0, scales
    and the bias of a forget gate at 1. With ``"glorot"`` the limit is ±gain·√(6 / (fan-in + fan-out)): the gain is 1
    (Glorot & Bengio 2010, equation 16), and 4 before a sigmoid (Bengio 2012, "Practical recommendations …",
    section 3.1), without which deep sigmoid networks do not learn. With ``"he"`` it is ±√(6 / fan-in), a variance of
    2 / fan-in, in every layer (He et al. 2015, equation 10): a ReLU halves the second moment, which therefore stays
    the same from layer to layer.

    Every array has its own generator, seeded by its name, so that it does not depend on the rest of the network.
    """
    arrays: dict[str, NDArray[np.float64]] = {}
    before_sigmoids = {placed.inputs[0] for placed in network.layers if isinstance(placed.layer, Sigmoid)}
    for placed in network.layers:
        gain = 4.0 if placed.name in before_sigmoids and rule == "glorot" else 1.0
        for name, parameter in placed.parameters.items():
            limit = gain * (parameter.limit or _limit(parameter, rule))
            arrays[name] = _initial(parameter, limit, np.random.default_rng([seed, zlib.crc32(name.encode())]))
    return arrays


def _initial(parameter: Parameter, limit: float, generator: np.random.Generator) -> NDArray[np.float64]:
    if limit:
        return generator.uniform(-limit, limit, size=parameter.shape)
    array = np.full(parameter.shape, 1.0 if parameter.role == "scale" else 0.0)
    array[slice(*parameter.ones or (0, 0))] = 1.0
    return array


def _limit(parameter: Parameter, rule: Rule) -> float:
    fans = parameter.fan_in + (parameter.fan_out if rule == "glorot" else 0)
    return float(np.sqrt(6.0 / fans)) if fans else 0.0
