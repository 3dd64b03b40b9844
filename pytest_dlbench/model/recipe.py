"""How a model is trained: the optimiser, the batch, the number of epochs."""

from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import Literal

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import require_positive, require_share

Precision = Literal["float32", "float64"]
Initialisation = Literal["shared", "framework"]


@dataclass(frozen=True, slots=True)
class SGD:
    """Stochastic gradient descent with classical momentum.

    ``velocity = momentum·velocity + gradient + weight_decay·parameter``, then ``parameter -= learning_rate·velocity``;
    with ``nesterov`` the step is ``gradient + momentum·velocity`` (Sutskever et al. 2013, in the form that PyTorch and
    optax have).
    """

    learning_rate: float
    _: KW_ONLY
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        require_share(self.momentum, "SGD momentum")
        if not (0 < self.learning_rate < inf and 0 <= self.weight_decay < inf):
            raise ModelError(f"SGD needs a learning rate above 0 and no negative weight decay, got {self}")
        if self.nesterov and not self.momentum:
            raise ModelError("SGD with nesterov needs a momentum above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The training settings of one case.

    ``epochs`` is the source's own number (scale full); every epoch is a new seeded order of which only whole batches
    are used. ``init="shared"`` starts every framework from the same seeded arrays (Glorot uniform weights, zero
    biases); ``"framework"`` from its own defaults.
    """

    batch_size: int
    epochs: int
    optimizer: SGD
    precision: Precision = "float32"
    init: Initialisation = "shared"

    def __post_init__(self) -> None:
        require_positive((self.batch_size, self.epochs), "batch size and epochs")
