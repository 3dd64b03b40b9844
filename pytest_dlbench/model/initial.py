"""Initial weights that all frameworks share."""

import zlib

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.model.layers import Parameter, Sigmoid
from pytest_dlbench.model.network import Network


def initial_weights(network: Network, *, seed: int) -> dict[str, NDArray[np.float64]]:
    """Every trainable array in the canonical layout, by name.

    Uniform weights within ±gain·√(6 / (fan-in + fan-out)), or within the limit that a layer has of its own; zero
    biases and shifts, scales of one, a forget gate's bias of one. The gain is 1
    (Glorot & Bengio 2010, equation 16), and 4 before a sigmoid (Bengio 2012, "Practical recommendations …", section
    3.1), without which deep sigmoid networks stay where they start. Every array has a generator of its own, seeded
    by its name, so that what stands elsewhere in a network does not change it.
    """
    arrays: dict[str, NDArray[np.float64]] = {}
    before_sigmoids = {placed.inputs[0] for placed in network.layers if isinstance(placed.layer, Sigmoid)}
    for placed in network.layers:
        gain = 4.0 if placed.name in before_sigmoids else 1.0
        for name, parameter in placed.parameters.items():
            arrays[name] = _initial(parameter, gain, np.random.default_rng([seed, zlib.crc32(name.encode())]))
    return arrays


def _initial(parameter: Parameter, gain: float, generator: np.random.Generator) -> NDArray[np.float64]:
    if limit := parameter.limit or _glorot(parameter):
        return generator.uniform(-gain * limit, gain * limit, size=parameter.shape)
    array = np.full(parameter.shape, 1.0 if parameter.role == "scale" else 0.0)
    array[slice(*parameter.ones or (0, 0))] = 1.0
    return array


def _glorot(parameter: Parameter) -> float:
    fans = parameter.fan_in + parameter.fan_out
    return float(np.sqrt(6.0 / fans)) if fans else 0.0
