"""Initial weights that all frameworks share."""

import zlib

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.model.layers import Parameter, Sigmoid
from pytest_dlbench.model.network import Network


def initial_weights(network: Network, *, seed: int) -> dict[str, NDArray[np.float64]]:
    """Every trainable array in the canonical layout, by name.

    Uniform weights within ±gain·√(6 / (fan-in + fan-out)), zero biases and shifts, scales of one. The gain is 1
    (Glorot & Bengio 2010, equation 16), and 4 before a sigmoid (Bengio 2012, "Practical recommendations …", section
    3.1), without which deep sigmoid networks stay where they start. Every array has a generator of its own, seeded
    by its name, so that what stands elsewhere in a network does not change it.
    """
    arrays: dict[str, NDArray[np.float64]] = {}
    followers = [*(placed.layer for placed in network.layers[1:]), None]
    for placed, follower in zip(network.layers, followers, strict=True):
        gain = 4.0 if isinstance(follower, Sigmoid) else 1.0
        for name, parameter in placed.parameters.items():
            arrays[name] = _initial(parameter, gain, np.random.default_rng([seed, zlib.crc32(name.encode())]))
    return arrays


def _initial(parameter: Parameter, gain: float, generator: np.random.Generator) -> NDArray[np.float64]:
    if parameter.role == "weight":
        limit = gain * np.sqrt(6.0 / (parameter.fan_in + parameter.fan_out))
        return generator.uniform(-limit, limit, size=parameter.shape)
    return np.full(parameter.shape, 1.0 if parameter.role == "scale" else 0.0)
