"""Optimisers, defined by the update equations that every framework must compute, whatever its own defaults.

``g`` is the gradient of the batch's mean loss, ``p`` a parameter; slots start at zero.
"""

from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import require_share


@dataclass(frozen=True, slots=True)
class SGD:
    """Stochastic gradient descent with classical momentum.

    ``velocity = momentum·velocity + g + weight_decay·p``, then ``p -= learning_rate·velocity``; with ``nesterov`` the
    step is ``g + momentum·velocity`` (Sutskever et al. 2013, in the form that PyTorch and optax use).
    """

    kind: ClassVar[str] = "sgd"
    learning_rate: float
    _: KW_ONLY
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    @property
    def slots(self) -> int:
        """The number of values that are kept for each parameter."""
        return 1 if self.momentum else 0

    def __post_init__(self) -> None:
        require_share(self.momentum, "SGD momentum")
        if not (0 < self.learning_rate < inf and 0 <= self.weight_decay < inf):
            raise ModelError(f"SGD needs a learning rate above 0 and no negative weight decay, got {self}")
        if self.nesterov and not self.momentum:
            raise ModelError("SGD with nesterov needs a momentum above 0")


@dataclass(frozen=True, slots=True)
class Adam:
    """``p -= learning_rate·m̂ / (√v̂ + epsilon)`` (Kingma & Ba 2015, algorithm 1).

    ``m = beta1·m + (1 - beta1)·g``, ``v = beta2·v + (1 - beta2)·g²``, and at step t from 1 ``m̂ = m / (1 - beta1^t)``,
    ``v̂ = v / (1 - beta2^t)``. Epsilon is added to the root of the corrected ``v̂``.
    """

    kind: ClassVar[str] = "adam"
    slots: ClassVar[int] = 2
    learning_rate: float = 1e-3
    _: KW_ONLY
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        require_share(self.beta1, "Adam beta1")
        require_share(self.beta2, "Adam beta2")
        _require_above_zero(self, self.learning_rate, self.epsilon)


@dataclass(frozen=True, slots=True)
class AdamW:
    """``p -= learning_rate·(m̂ / (√v̂ + epsilon) + weight_decay·p)`` (Loshchilov & Hutter 2019, algorithm 2).

    ``m̂`` and ``v̂`` are those of ``Adam``; the decay bypasses them. As in PyTorch and optax, the learning rate
    multiplies the decay, too. Only arrays of two or more axes decay: the weights, also of embeddings and positions;
    biases, scales and shifts do not.
    """

    kind: ClassVar[str] = "adamw"
    slots: ClassVar[int] = 2
    learning_rate: float = 1e-3
    _: KW_ONLY
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.01

    def __post_init__(self) -> None:
        require_share(self.beta1, "AdamW beta1")
        require_share(self.beta2, "AdamW beta2")
        _require_above_zero(self, self.learning_rate, self.epsilon)
        if not 0 <= self.weight_decay < inf:
            raise ModelError(f"AdamW needs no negative weight decay, got {self}")


@dataclass(frozen=True, slots=True)
class Adadelta:
    """``p -= learning_rate·d`` with ``d = √(u + epsilon) / √(v + epsilon)·g`` (Zeiler 2012, algorithm 1).

    ``v = rho·v + (1 - rho)·g²`` before, ``u = rho·u + (1 - rho)·d²`` after the step.
    """

    kind: ClassVar[str] = "adadelta"
    slots: ClassVar[int] = 2
    learning_rate: float = 1.0
    _: KW_ONLY
    rho: float = 0.95
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        require_share(self.rho, "Adadelta rho")
        _require_above_zero(self, self.learning_rate, self.epsilon)


@dataclass(frozen=True, slots=True)
class RMSprop:
    """``p -= learning_rate·g / (√v + epsilon)`` with ``v = rho·v + (1 - rho)·g²`` (Tieleman & Hinton 2012).

    Not centred, without momentum; epsilon is added to the root, as in PyTorch.
    """

    kind: ClassVar[str] = "rmsprop"
    slots: ClassVar[int] = 1
    learning_rate: float = 1e-3
    _: KW_ONLY
    rho: float = 0.9
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        require_share(self.rho, "RMSprop rho")
        _require_above_zero(self, self.learning_rate, self.epsilon)


Optimizer = SGD | Adam | AdamW | Adadelta | RMSprop


def _require_above_zero(optimizer: object, *settings: float) -> None:
    if not all(0 < setting < inf for setting in settings):
        raise ModelError(f"learning rate and epsilon must be above 0, got {optimizer}")
